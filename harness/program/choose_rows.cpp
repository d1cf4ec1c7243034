#include "harness/program/choose_rows.hpp"

#include <regex.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "harness/platform/platform.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

// The row that --explain names, of any suite. UsageError: there is none such, or no model to ask.
std::vector<Instance> row_to_explain(const Options& options) {
  if (program_kind() != DeviceKind::model) {
    throw UsageError(
        "--explain needs the model device, which sees every lane: add"
        " --device=model:NAME; --list_devices lists them");
  }
  if (!options.filter.empty() || options.repetitions > 1) {
    throw UsageError("--explain runs only the row that it names, once: remove --benchmark_" +
                     std::string(options.filter.empty() ? "repetitions" : "filter"));
  }
  std::vector<Instance> rows =
      options.axes.empty() ? instances(Suite::full) : chosen_rows(options.axes, options.suite);
  std::erase_if(rows, [&](const Instance& i) { return i.name != options.explain; });
  if (rows.empty()) {
    throw UsageError("--explain: no row is called '" + options.explain +
                     "'; --benchmark_list_tests lists them");
  }
  return rows;
}

// The rows that show a roof at its best, of any suite.
std::vector<Instance> roof_rows() {
  std::vector<Instance> rows = instances(Suite::full);
  std::erase_if(rows, [](const Instance& i) { return !i.is_roof; });
  return rows;
}

// The C library writes repeats out: a few characters of nested ones take gigabytes.
void check_repeats(const std::string& filter) {
  constexpr double most = 1000;
  double product = 1;
  for (std::size_t open = filter.find('{'); open != filter.npos;
       open = filter.find('{', open + 1)) {
    const std::string inside = filter.substr(open + 1, filter.find('}', open) - open - 1);
    const double low = std::strtod(inside.c_str(), nullptr);
    const double high = std::strtod(inside.c_str() + inside.find(',') + 1, nullptr);
    product *= std::max({1.0, low, high});
  }
  if (product > most) {
    throw UsageError("--benchmark_filter='" + filter + "': its repeats {} multiply to over 1000");
  }
}

// The rows whose name the filter lets through; a leading '-' excludes.
std::vector<Instance> filtered(std::vector<Instance> all, const std::string& filter) {
  if (filter.empty() || filter == "all") return all;
  check_repeats(filter);
  const bool inverted = filter.starts_with('-');
  regex_t expression;  // what Google Benchmark itself reads filters with
  if (regcomp(&expression, filter.c_str() + inverted, REG_EXTENDED | REG_NOSUB) != 0) {
    throw UsageError("--benchmark_filter='" + filter + "': not a regular expression");
  }
  std::erase_if(all, [&](const Instance& i) {
    return (regexec(&expression, i.name.c_str(), 0, nullptr, 0) == 0) == inverted;
  });
  regfree(&expression);
  return all;
}

}  // namespace

std::vector<Instance> choose_rows(const Options& options) {
  if (options.roofs && !options.axes.empty()) {
    throw UsageError("--roofs runs its own rows: remove --axis='" + options.axes.front().text +
                     "'");
  }
  std::vector<Instance> rows =
      !options.explain.empty() ? row_to_explain(options)
      : options.roofs          ? filtered(roof_rows(), options.filter)
      : options.axes.empty()   ? filtered(instances(options.suite), options.filter)
                               : filtered(chosen_rows(options.axes, options.suite), options.filter);
  if (rows.empty()) {
    throw UsageError("no row of the " + options.suite_name + " suite matches --benchmark_filter='" +
                     options.filter + "'; --benchmark_list_tests lists them");
  }
  return rows;
}

}  // namespace gpubench
