#include "harness/program/console.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <optional>
#include <sstream>

#include "harness/records/explanation.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

std::string percent(double ratio, int digits = 2) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << ratio * 100 << " %";
  return text.str();
}

std::optional<double> counter(const Row& row, const char* name) {
  const auto found = row.counters.find(name);
  if (found == row.counters.end()) return std::nullopt;
  return found->second;
}

// Half of the 95 % interval over the time; empty where nobody knows, or a model has none.
std::string half_width(const Row& row) {
  const auto low = counter(row, "ci_low_seconds"), high = counter(row, "ci_high_seconds");
  if (!low || !high || *high <= *low) return "";
  return "\u00b1" + percent((*high - *low) / 2 / row.median_seconds, 1);
}

// Of text in UTF-8: setw counts bytes.
std::string right(const std::string& text, std::size_t width) {
  const auto shown = static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
  return std::string(shown < width ? width - shown : 0, ' ') + text;
}

std::string share(const Row& row, const char* name) {
  const auto value = counter(row, name);
  return value ? percent(*value, 1) : "";
}

constexpr std::size_t of_time = 11, of_interval = 9, of_headline = 16, of_share = 10;

// Whether the row is as far from its law as it may be; a law that is a time is better below.
bool keeps_law(const Row& row) {
  const double ratio = counter(row, "law_ratio").value_or(1);
  const double better = row.headline.lower_is_better ? 1 / ratio : ratio;
  return std::abs(better - 1) <= counter(row, "law_tolerance").value_or(0);
}

}  // namespace

std::string with_prefix(double value, const std::string& unit) {
  constexpr const char* prefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P"};
  int step = 4;
  while (value != 0 && std::abs(value) < 0.9995 && step > 0) value *= 1000, --step;
  while (std::abs(value) >= 999.5 && step < 9) value /= 1000, ++step;
  std::ostringstream text;
  text << std::setprecision(3) << value << ' ' << prefixes[step] << unit;
  return text.str();
}

std::string headline_text(const ordered_json& context) {
  const auto setting = [&](const char* name) {
    const auto found = context.find(name);
    return found == context.end() ? ""
                                  : std::string(", ") + name + ": " + found->get<std::string>();
  };
  return "gpubench: " + context.at("device_title").get<std::string>() +
         (context.at("device_kind") == "model" ? ": MODELLED, nothing here was measured"
                                               : ": measured") +
         setting("conditions") + setting("engine") + "\n";
}

std::string console_header(std::size_t width) {
  std::ostringstream text;
  text << std::left << std::setw(static_cast<int>(width)) << "row" << right("time", of_time)
       << right("", of_interval) << right("figure", of_headline) << right("of roof", of_share)
       << right("of law", of_share) << "  bound by\n"
       << std::string(width + of_time + of_interval + of_headline + 2 * of_share + 10, '-') << '\n';
  return text.str();
}

std::string console_line(const Row& row, std::size_t width) {
  std::ostringstream text;
  text << std::left << std::setw(static_cast<int>(width)) << row.name << std::right;
  if (row.outcome == Outcome::skipped) {
    text << "  skipped: " << row.reason << '\n';
  } else if (row.outcome == Outcome::failed) {
    text << "  FAILED: " << row.reason << '\n';
  } else {
    const bool is_time = row.headline.name == "seconds" || row.headline_value() == 0;
    text << right(with_prefix(row.median_seconds, "s"), of_time)
         << right(half_width(row), of_interval)
         << right(is_time ? "" : with_prefix(row.headline_value(), row.headline.unit), of_headline)
         << right(share(row, "roof_fraction"), of_share) << right(share(row, "law_ratio"), of_share)
         << "  " << row.bound << (keeps_law(row) ? "" : "  off its law");
    if (const auto ok = row.counters.find("converged");
        ok != row.counters.end() && ok->second == 0) {
      text << "  not converged";
    }
    text << '\n';
  }
  return text.str();
}

std::string laws_text(const std::vector<Row>& rows) {
  std::size_t with_law = 0;
  std::vector<const Row*> off;
  for (const Row& row : rows) {
    if (row.outcome != Outcome::measured || !row.counters.contains("law_ratio")) continue;
    ++with_law;
    if (!keeps_law(row)) off.push_back(&row);
  }
  if (with_law == 0) return "";
  const auto distance = [](const Row* row) {
    return std::abs(std::log(std::max(row->counters.at("law_ratio"), 1e-9)));
  };
  std::ostringstream text;
  text << with_law - off.size() << " of " << with_law << " rows keep their law";
  if (!off.empty()) {
    const Row& worst = **std::ranges::max_element(off, {}, distance);
    text << "; worst: " << worst.name << ", " << percent(worst.counters.at("law_ratio"), 1);
  }
  return text.str() + '\n';
}

std::string terms_line(const Row& row) {
  std::ostringstream text;
  text << "    ";
  for (const auto& [name, seconds] : row.terms) {
    if (seconds >= 1e-12) text << name << ' ' << with_prefix(seconds, "s") << "  ";
  }
  text << '\n' << instructions_text("    instructions of warps:", row.instructions);
  return text.str();
}

std::string console_aggregates(const Results& results, std::size_t width) {
  const auto repeated = times_measured(results.rows);
  const TimeUnit seconds{"s", 1};
  std::ostringstream text;
  for (const auto& run : results.aggregates) {
    if (repeated.at(run.run_name.function_name) < 2) continue;
    const double value = aggregate_time(run, seconds);
    text << std::left << std::setw(static_cast<int>(width))
         << run.run_name.function_name + "_" + run.aggregate_name << std::right << std::setw(11)
         << (run.aggregate_unit == benchmark::kTime ? with_prefix(value, "s") : percent(value))
         << '\n';
  }
  return text.str();
}

std::string console_text(const Results& results, const Options& options, std::size_t width) {
  const auto repeated = times_measured(results.rows);
  std::string text = headline_text(results.context) + console_header(width);
  for (const Row& row : results.rows) {
    if (options.report_aggregates_only && repeated.at(row.name) > 1) continue;
    text += console_line(row, width);
  }
  return text + console_aggregates(results, width);
}

std::string roofs_text(const std::vector<StatedRoof>& stated) {
  // By name: what this run found, and what the device file says.
  std::vector<std::string> names;
  std::map<std::string, const StatedRoof*> found, filed;
  for (const StatedRoof& roof : stated) {
    if (std::ranges::find(names, roof.name) == names.end()) names.push_back(roof.name);
    (roof.is_of_this_run() ? found : filed)[roof.name] = &roof;
  }
  std::ostringstream text;
  text << std::left << std::setw(14) << "roof" << std::right << std::setw(14) << "here"
       << "  " << std::left << std::setw(11) << "" << std::right << std::setw(14) << "device file"
       << "  " << std::left << std::setw(11) << "" << std::right << std::setw(9) << "fraction"
       << "  from\n"
       << std::string(96, '-') << '\n';
  for (const std::string& name : names) {
    const auto ours = found.find(name), theirs = filed.find(name);
    const auto cells = [&](const auto& which, const auto& none) {
      const bool known = which != none.end();
      text << std::right << std::setw(14)
           << (known ? with_prefix(which->second->value, which->second->unit) : "-") << "  "
           << std::left << std::setw(11) << (known ? which->second->provenance : "");
    };
    text << std::left << std::setw(14) << name;
    cells(ours, found);
    cells(theirs, filed);
    const bool both = ours != found.end() && theirs != filed.end();
    text << std::right << std::setw(9)
         << (both ? percent(ours->second->value / theirs->second->value) : "") << "  "
         << (ours != found.end() ? ours->second->source : "") << '\n';
  }
  return text.str();
}

}  // namespace gpubench
