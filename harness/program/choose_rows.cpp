#include "harness/program/choose_rows.hpp"

#include <regex.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/platform/platform.hpp"
#include "harness/system/error.hpp"
#include "harness/system/own_files.hpp"

namespace gpubench {
namespace {

// The row that --explain names, of any suite. UsageError: there is none such, or no model to ask.
std::vector<Instance> row_to_explain(const Options& options) {
  if (program_kind() != DeviceKind::model) {
    throw UsageError(
        "--explain needs the model device, which sees every lane: add"
        " --device=model:NAME; --list_devices lists them");
  }
  own_files();  // says now, and not after the run, that GPUBENCH_ROOT is wrong
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

[[noreturn]] void refuse_filter(const std::string& filter, const std::string& why) {
  throw UsageError("--benchmark_filter='" + filter + "': " + why);
}

// How often the repeat at `at`, if there is one, has what it follows written out; moves past it.
double copies(const std::string& filter, std::size_t& at) {
  const char c = at < filter.size() ? filter[at] : ' ';
  if (c != '+' && c != '*' && c != '?' && c != '{') return 1;
  const std::size_t open = at++;
  if (c != '{') return c == '+' ? 2 : 1;  // x+ is written out as xx*
  at = std::min(filter.size(), filter.find('}', open));
  const std::string inside = filter.substr(open + 1, at - open - 1);
  if (at < filter.size()) ++at;
  const std::size_t comma = inside.find(',');
  const double low = std::strtod(inside.c_str(), nullptr);
  const double high = comma == inside.npos ? low : std::strtod(inside.c_str() + comma + 1, nullptr);
  return std::max({1.0, low + 1, high});
}

// Behind a bracket expression, whose first ']' may be of its own.
std::size_t end_of_brackets(const std::string& filter, std::size_t open) {
  std::size_t at = open + 1;
  if (at < filter.size() && filter[at] == '^') ++at;
  return std::min(filter.size(), filter.find(']', at + 1)) + 1;
}

// The C library writes repeats out, and goes down into groups by its own stack: a few characters
// could take gigabytes, or the stack. To try what a group has matched takes time without bound.
void check_filter(const std::string& filter) {
  constexpr double most_written = 100'000;
  constexpr std::size_t most_nested = 100;
  std::vector<double> sizes{0};  // of the groups that are open, written out
  for (std::size_t at = 0; at < filter.size();) {
    double size = 1;
    if (filter[at] == '(') {
      sizes.push_back(0);
      if (sizes.size() > most_nested) refuse_filter(filter, "its groups () are nested too deeply");
      ++at;
      continue;
    }
    if (filter[at] == '\\' && at + 1 < filter.size()) {
      if (filter[at + 1] >= '1' && filter[at + 1] <= '9') {
        refuse_filter(filter, "refers back to a group, which no filter may");
      }
      at += 2;
    } else if (filter[at] == '[') {
      at = end_of_brackets(filter, at);
    } else if (filter[at] == ')' && sizes.size() > 1) {
      size = std::max(1.0, sizes.back());
      sizes.pop_back();
      ++at;
    } else {
      ++at;
    }
    for (std::size_t before = at - 1; before != at;) {
      before = at;
      size *= copies(filter, at);
    }
    sizes.back() += size;
    if (sizes.back() > most_written) {
      refuse_filter(filter, "its repeats {} and + write it out to over 100000 characters");
    }
  }
}

// The rows whose name the filter lets through; a leading '-' excludes.
std::vector<Instance> filtered(std::vector<Instance> all, const std::string& filter) {
  if (filter.empty() || filter == "all") return all;
  check_filter(filter);
  const bool inverted = filter.starts_with('-');
  regex_t expression;  // what Google Benchmark itself reads filters with
  if (regcomp(&expression, filter.c_str() + inverted, REG_EXTENDED | REG_NOSUB) != 0) {
    refuse_filter(filter, "not a regular expression");
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
