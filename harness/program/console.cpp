#include "harness/program/console.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

#include "harness/records/explanation.hpp"

namespace gpubench {

using nlohmann::ordered_json;

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

std::string console_text(const Results& results, const Options& options, const RowTable& table) {
  const auto repeated = times_measured(results.rows);
  std::string text = headline_text(results.context) + table.header();
  for (const Row& row : results.rows) {
    if (only_aggregates(results, options) && repeated.at(row.name) > 1) continue;
    text += table.line(row);
  }
  return text + console_aggregates(results, table.name_width());
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
