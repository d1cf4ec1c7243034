#include "harness/program/result_csv.hpp"

#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

namespace gpubench {
namespace {

// A spreadsheet takes what begins so for a formula.
bool is_formula(const std::string& text) {
  return !text.empty() && std::string_view("=+-@\t").find(text.front()) != std::string_view::npos;
}

std::string quoted(const std::string& text) {
  std::string result = is_formula(text) ? "\"'" : "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + '"';
}

class Table {
 public:
  Table(const Results& results, const Options& options) : unit_(options.time_unit) {
    text_.precision(17);
    for (const Row& row : results.rows) {
      for (const auto& [name, value] : row.counters) counters_.insert(name);
    }
    device_ = ',' + results.context.at("device_kind").get<std::string>() + ',' +
              quoted(results.context.at("device").get<std::string>());
    text_ << "name,iterations,real_time,cpu_time,time_unit,label,error_occurred,error_message,"
             "skipped,skip_reason,verified,repetition_index,device_kind,device";
    for (const std::string& name : counters_) text_ << ',' << name;
    text_ << '\n';
  }

  void add(const Row& row) {
    if (row.outcome == Outcome::measured) {
      begin(row.name, static_cast<double>(row.samples.size()),
            row.median_seconds * unit_.in_a_second);
      text_ << row.bound << ",,,,";
    } else {
      text_ << quoted(row.name)
            << (row.outcome == Outcome::failed ? ",,,,,,true," + quoted(row.reason) + ",,"
                                               : ",,,,,,,,true," + quoted(row.reason));
    }
    text_ << ',' << row.verified << ',' << row.repetition;
    end([&](const std::string& name) { return row.counter(name); });
  }

  void add(const benchmark::BenchmarkReporter::Run& run) {
    begin(run.run_name.function_name + "_" + run.aggregate_name,
          static_cast<double>(run.iterations), aggregate_time(run, unit_));
    text_ << ",,,,,,";
    end([&](const std::string& name) -> std::optional<double> {
      const auto found = run.counters.find(name);
      return found == run.counters.end() || !std::isfinite(found->second.value)
                 ? std::nullopt
                 : std::optional<double>(found->second.value);
    });
  }

  std::string text() const { return text_.str(); }

 private:
  void begin(const std::string& name, double iterations, double time) {
    text_ << quoted(name) << ',' << iterations << ',' << time << ',' << time << ',' << unit_.name
          << ',';
  }
  void end(const std::function<std::optional<double>(const std::string&)>& value_of) {
    text_ << device_;
    for (const std::string& name : counters_) {
      text_ << ',';
      if (const std::optional<double> value = value_of(name)) text_ << *value;
    }
    text_ << '\n';
  }

  TimeUnit unit_;
  std::set<std::string> counters_;
  std::string device_;
  std::ostringstream text_;
};

}  // namespace

std::string result_csv(const Results& results, const Options& options) {
  const auto repeated = times_measured(results.rows);
  Table table(results, options);
  for (const Row& row : results.rows) {
    if (only_aggregates(results, options) && repeated.at(row.name) > 1) continue;
    table.add(row);
  }
  for (const auto& run : results.aggregates) {
    if (repeated.at(run.run_name.function_name) > 1) table.add(run);
  }
  return table.text();
}

}  // namespace gpubench
