#include "harness/program/results.hpp"

#include <set>

namespace gpubench {

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

bool only_aggregates(const Results& results, const Options& options) {
  return options.report_aggregates_only && !results.aggregates.empty();
}

double aggregate_time(const benchmark::BenchmarkReporter::Run& run, const TimeUnit& unit) {
  return run.aggregate_unit == benchmark::kPercentage
             ? run.real_accumulated_time
             : run.real_accumulated_time / static_cast<double>(run.iterations) * unit.in_a_second;
}

}  // namespace gpubench
