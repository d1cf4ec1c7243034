#include "harness/program/results.hpp"

#include <algorithm>
#include <set>

namespace gpubench {

std::map<std::string, Place> places_of(const std::vector<Instance>& rows) {
  std::map<std::string, Place> places;
  std::map<std::string, Place> next;  // by kernel
  for (const Instance& row : rows) {
    const int families = static_cast<int>(next.size());
    Place& place = next.try_emplace(row.topic + "/" + row.kernel, Place{families, 0}).first->second;
    if (places.try_emplace(row.name, place).second) ++place.instance;
  }
  return places;
}

std::map<std::string, int> times_measured(const std::vector<Row>& rows) {
  std::map<std::string, int> times;
  std::set<std::string> unfinished;
  for (const Row& row : rows) {
    ++times[row.name];
    if (row.outcome != Outcome::measured) unfinished.insert(row.name);
  }
  for (const std::string& name : unfinished) times[name] = 0;
  return times;
}

std::vector<const Row*> one_of_each_name(const std::vector<Row>& rows) {
  std::vector<std::vector<const Row*>> groups;
  std::map<std::string, std::size_t> places;
  for (const Row& row : rows) {
    const auto [place, is_new] = places.try_emplace(row.name, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&row);
  }
  std::vector<const Row*> chosen;
  for (auto& group : groups) {
    const auto first_of = [&](Outcome outcome) {
      return std::ranges::find(group, outcome, [](const Row* row) { return row->outcome; });
    };
    auto found = first_of(Outcome::failed);
    if (found == group.end()) found = first_of(Outcome::skipped);
    if (found == group.end()) {
      std::ranges::stable_sort(group, {}, [](const Row* row) { return row->median_seconds; });
      found = group.begin() + static_cast<std::ptrdiff_t>((group.size() - 1) / 2);
    }
    chosen.push_back(*found);
  }
  return chosen;
}

bool only_aggregates(const Results& results, const Options& options) {
  return options.report_aggregates_only && !results.aggregates.empty();
}

double aggregate_time(const benchmark::BenchmarkReporter::Run& run, const TimeUnit& unit) {
  return run.aggregate_unit == benchmark::kPercentage
             ? run.real_accumulated_time
             : run.real_accumulated_time / static_cast<double>(run.iterations) * unit.in_a_second;
}

}  // namespace gpubench
