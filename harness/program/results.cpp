#include "harness/program/results.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "harness/records/explanation.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

bool is_bandwidth(const std::string& roof) {
  return roof == "dram" || roof == "l2" || roof == "l1" || roof == "shared";
}

double headline(const Row& row) {
  const auto found = row.counters.find(row.headline);
  return found == row.counters.end() ? 0 : found->second;
}

ordered_json argument_json(const Argument& argument) {
  return std::visit([](const auto& value) { return ordered_json(value); }, argument);
}

ordered_json row_json(const Row& row, int family, int instance, int repetitions,
                      const TimeUnit& unit) {
  ordered_json json = {{"name", row.name},
                       {"family_index", family},
                       {"per_family_instance_index", instance},
                       {"run_name", row.name},
                       {"run_type", "iteration"},
                       {"repetitions", repetitions},
                       {"repetition_index", row.repetition},
                       {"threads", 1},
                       {"concept", row.topic},
                       {"kernel", row.kernel}};
  json["arguments"] = ordered_json::object();
  for (const auto& [name, value] : row.arguments) json["arguments"][name] = argument_json(value);
  if (row.outcome == Outcome::skipped) {
    json["skipped"] = true;
    json["skip_reason"] = row.reason;
  } else if (row.outcome == Outcome::failed) {
    json["error_occurred"] = true;
    json["error_message"] = row.reason;
  } else {
    json["iterations"] = row.samples.size();
    json["real_time"] = row.median_seconds * unit.in_a_second;
    json["cpu_time"] = json["real_time"];  // the device's time is the only one there is
    json["time_unit"] = unit.name;
    if (!row.bound.empty()) json["label"] = row.bound;
    if (!row.roof.empty()) json["roof"] = row.roof;
    if (!row.verified.empty()) json["verified"] = row.verified;
    if (!row.counts.empty()) json["counts"] = row.counts;
    if (!row.assuming.empty()) json["assuming"] = row.assuming;
    if (!row.note.empty()) json["note"] = row.note;
    for (const auto& [name, words] : row.words) json[name] = words;
    for (const auto& [name, value] : row.counters) {
      if (std::isfinite(value)) json[name] = value;
    }
    for (const auto& [name, seconds] : row.terms) json["terms"][name] = seconds;
    for (const auto& [name, count] : row.instructions) json["instructions"][name] = count;
    for (const Launched& launched : row.launches) {
      ordered_json one = {{"kernel", launched.kernel}, {"times", launched.times}};
      one["figures"] = launched.figures;
      if (!launched.departures.empty()) one["departures"] = launched.departures;
      json["launches"].push_back(std::move(one));
    }
  }
  return json;
}

std::string cell(const Row& row, const char* counter, const std::string& unit) {
  const auto found = row.counters.find(counter);
  return found == row.counters.end() ? "" : with_prefix(found->second, unit);
}

// By name: how many repetitions were measured; 0 where one of them was not.
std::map<std::string, int> times_measured(const std::vector<Row>& rows) {
  std::map<std::string, int> times;
  std::set<std::string> spoiled;
  for (const Row& row : rows) {
    ++times[row.name];
    if (row.outcome != Outcome::measured) spoiled.insert(row.name);
  }
  for (const std::string& name : spoiled) times[name] = 0;
  return times;
}

// A statistic of the repetitions' times, in `unit`; a ratio stays one.
double aggregate_time(const benchmark::BenchmarkReporter::Run& run, const TimeUnit& unit) {
  return run.aggregate_unit == benchmark::kPercentage
             ? run.real_accumulated_time
             : run.real_accumulated_time / static_cast<double>(run.iterations) * unit.in_a_second;
}

std::string percent(double ratio) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << ratio * 100 << " %";
  return text.str();
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + '"';
}

std::filesystem::path beside(const std::filesystem::path& path) {
  return path.string() + ".partial-" + std::to_string(getpid());
}

[[noreturn]] void cannot_write(const std::filesystem::path& path) {
  throw UsageError("cannot write '" + path.string() +
                   "': " + std::error_code(errno, std::generic_category()).message());
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

std::vector<StatedRoof> state_roofs(const std::vector<Row>& rows, const Platform& platform) {
  std::vector<StatedRoof> stated;
  for (const Row& row : rows) {
    if (row.outcome != Outcome::measured || row.measures.empty()) continue;
    const auto same = std::find_if(stated.begin(), stated.end(),
                                   [&](const StatedRoof& r) { return r.name == row.measures; });
    StatedRoof roof{row.measures, is_bandwidth(row.measures) ? "bandwidth" : "compute",
                    headline(row), platform.kind() == DeviceKind::model ? "modelled" : "measured",
                    row.name};
    if (same == stated.end()) {
      stated.push_back(roof);
    } else if (same->value < roof.value) {
      *same = roof;
    }
  }
  const DeviceSpec& device = platform.device();
  const auto state = [&](const Roof& roof) {
    stated.push_back({roof.name, is_bandwidth(roof.name) ? "bandwidth" : "compute", roof.value,
                      roof.provenance, roof.source});
  };
  // No pattern allows what the data sheet says of device memory: without a row that measures it,
  // laws stand on what is known to be reached.
  if (std::ranges::find(stated, "dram", &StatedRoof::name) == stated.end()) {
    if (const auto dram = device.reachable_dram()) state(*dram);
  }
  for (const Roof& roof : device.data_sheet_roofs()) state(roof);
  return stated;
}

Roofs best_roofs(const std::vector<StatedRoof>& stated) {
  Roofs roofs;
  for (const StatedRoof& roof : stated) roofs.emplace(roof.name, roof.value);  // measured first
  return roofs;
}

std::string roofs_text(const std::vector<StatedRoof>& stated) {
  // By name: what this run found, and what the device file says.
  std::vector<std::string> names;
  std::map<std::string, const StatedRoof*> found, filed;
  for (const StatedRoof& roof : stated) {
    if (std::ranges::find(names, roof.name) == names.end()) names.push_back(roof.name);
    const bool is_ours = roof.provenance == "measured" || roof.provenance == "modelled";
    (is_ours ? found : filed)[roof.name] = &roof;
  }
  std::ostringstream text;
  text << std::left << std::setw(14) << "roof" << std::right << std::setw(14) << "here"
       << "  " << std::left << std::setw(11) << "" << std::right << std::setw(14) << "device file"
       << "  " << std::left << std::setw(11) << "" << std::right << std::setw(9) << "fraction"
       << "  from\n"
       << std::string(96, '-') << '\n';
  for (const std::string& name : names) {
    const auto ours = found.find(name), theirs = filed.find(name);
    const std::string unit = is_bandwidth(name)                         ? "B/s"
                             : name == "int32" || name == "tensor_int8" ? "OP/s"
                                                                        : "FLOP/s";
    const auto cells = [&](const auto& which, const auto& none) {
      const bool known = which != none.end();
      text << std::right << std::setw(14) << (known ? with_prefix(which->second->value, unit) : "-")
           << "  " << std::left << std::setw(11) << (known ? which->second->provenance : "");
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

void judge_rows(std::vector<Row>& rows, const Roofs& roofs) {
  for (Row& row : rows) {
    if (row.outcome != Outcome::measured) continue;
    if (row.law) {
      try {
        const double law = row.law(roofs);
        if (law > 0) {
          row.counters["law"] = law;
          row.counters["law_ratio"] = headline(row) / law;
          row.counters["law_tolerance"] = row.law_tolerance;
        }
      } catch (const std::out_of_range&) {  // a roof that nobody knows on this device
      }
    }
    if (const auto roof = roofs.find(row.roof.empty() ? row.bound : row.roof);
        roof != roofs.end()) {
      // Arithmetic, or the bytes through the one memory that they are told of.
      const auto amount = row.counters.find(is_bandwidth(row.bound) ? "moved_bytes_per_second"
                                                                    : "flops_per_second");
      if (amount != row.counters.end() &&
          (!is_bandwidth(row.bound) || row.bound == row.moved_through)) {
        row.counters["roof_fraction"] = amount->second / roof->second;
      }
    }
  }
}

ordered_json result_json(const Results& results, const Options& options) {
  const auto repeated = times_measured(results.rows);
  std::map<std::string, int> families, instances, repetitions;
  for (const Row& row : results.rows) ++repetitions[row.name];
  ordered_json benchmarks = ordered_json::array();
  std::map<std::string, std::pair<int, int>> indices;
  for (const Row& row : results.rows) {
    const std::string family = row.topic + "/" + row.kernel;
    const int index = families.try_emplace(family, static_cast<int>(families.size())).first->second;
    const auto [place, added] = indices.try_emplace(row.name, index, instances[family]);
    if (added) ++instances[family];
    if (options.report_aggregates_only && repeated.at(row.name) > 1) continue;
    benchmarks.push_back(row_json(row, place->second.first, place->second.second,
                                  repetitions[row.name], options.time_unit));
  }
  for (const auto& run : results.aggregates) {
    if (repeated.at(run.run_name.function_name) < 2) continue;
    ordered_json json = {
        {"name", run.run_name.function_name + "_" + run.aggregate_name},
        {"run_name", run.run_name.function_name},
        {"run_type", "aggregate"},
        {"repetitions", run.repetitions},
        {"threads", 1},
        {"aggregate_name", run.aggregate_name},
        {"aggregate_unit", run.aggregate_unit == benchmark::kTime ? "time" : "percentage"},
        {"iterations", run.iterations}};
    json["real_time"] = aggregate_time(run, options.time_unit);
    json["cpu_time"] = json["real_time"];
    json["time_unit"] = options.time_unit.name;
    for (const auto& [name, counter] : run.counters) {
      if (std::isfinite(counter.value)) json[name] = counter.value;
    }
    benchmarks.push_back(std::move(json));
  }
  return {{"context", results.context}, {"benchmarks", std::move(benchmarks)}};
}

std::string result_csv(const Results& results, const Options& options) {
  const auto repeated = times_measured(results.rows);
  std::set<std::string> counters;
  for (const Row& row : results.rows) {
    for (const auto& [name, value] : row.counters) counters.insert(name);
  }
  std::ostringstream text;
  text.precision(17);
  text << "name,iterations,real_time,cpu_time,time_unit,label,error_occurred,error_message,"
          "skipped,skip_reason,verified,repetition_index,device_kind,device";
  for (const std::string& name : counters) text << ',' << name;
  text << '\n';
  const std::string device = ',' + results.context.at("device_kind").get<std::string>() + ',' +
                             quoted(results.context.at("device").get<std::string>());
  const auto timed = [&](const std::string& name, auto iterations, double time) {
    text << quoted(name) << ',' << iterations << ',' << time << ',' << time << ','
         << options.time_unit.name << ',';
  };
  const auto end_line = [&](const auto& value_of) {
    text << device;
    for (const std::string& name : counters) {
      text << ',';
      if (const std::optional<double> value = value_of(name)) text << *value;
    }
    text << '\n';
  };
  for (const Row& row : results.rows) {
    if (options.report_aggregates_only && repeated.at(row.name) > 1) continue;
    if (row.outcome == Outcome::measured) {
      timed(row.name, row.samples.size(), row.median_seconds * options.time_unit.in_a_second);
      text << row.bound << ",,,,";
    } else {
      text << quoted(row.name)
           << (row.outcome == Outcome::failed ? ",,,,,,true," + quoted(row.reason) + ",,"
                                              : ",,,,,,,,true," + quoted(row.reason));
    }
    text << ',' << row.verified << ',' << row.repetition;
    end_line([&](const std::string& name) -> std::optional<double> {
      const auto found = row.counters.find(name);
      return found == row.counters.end() ? std::nullopt : std::optional(found->second);
    });
  }
  for (const auto& run : results.aggregates) {
    if (repeated.at(run.run_name.function_name) < 2) continue;
    timed(run.run_name.function_name + "_" + run.aggregate_name, run.iterations,
          aggregate_time(run, options.time_unit));
    text << ",,,,,,";
    end_line([&](const std::string& name) -> std::optional<double> {
      const auto found = run.counters.find(name);
      return found == run.counters.end() || !std::isfinite(found->second.value)
                 ? std::nullopt
                 : std::optional<double>(found->second.value);
    });
  }
  return text.str();
}

std::string headline_text(const ordered_json& context) {
  const auto conditions = context.find("conditions");
  return "gpubench: " + context.at("device_title").get<std::string>() +
         (context.at("device_kind") == "model" ? ": MODELLED, nothing here was measured"
                                               : ": measured") +
         (conditions == context.end() ? "" : ", conditions: " + conditions->get<std::string>()) +
         "\n";
}

std::string console_header(std::size_t width) {
  std::ostringstream text;
  text << std::left << std::setw(static_cast<int>(width)) << "row" << std::right << std::setw(11)
       << "time" << std::setw(13) << "useful" << std::setw(15) << "arithmetic" << std::setw(10)
       << "sect/req" << std::setw(10) << "bound by\n";
  text << std::string(width + 58, '-') << '\n';
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
    const auto sectors = row.counters.find("sectors_per_request");
    const bool counts_items = row.headline == "items_per_second";
    text << std::setw(11) << with_prefix(row.median_seconds, "s") << std::setw(13)
         << (counts_items ? cell(row, "items_per_second", "/s")
                          : cell(row, "useful_bytes_per_second", "B/s"))
         << std::setw(15) << cell(row, "flops_per_second", "FLOP/s") << std::setw(10);
    if (sectors == row.counters.end()) {
      text << "";
    } else {
      text << std::setprecision(4) << sectors->second;
    }
    text << std::setw(9) << row.bound;
    if (const auto ok = row.counters.find("converged");
        ok != row.counters.end() && ok->second == 0) {
      text << "  not converged";
    }
    text << '\n';
  }
  return text.str();
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

std::string samples_lines(const Results& results) {
  std::string text;
  for (const Row& row : results.rows) {
    if (row.outcome != Outcome::measured) continue;
    text += ordered_json{{"name", row.name},
                         {"repetition_index", row.repetition},
                         {"device_kind", results.context.at("device_kind")},
                         {"device", results.context.at("device")},
                         {"mode", results.context.at("mode")},
                         {"seconds", row.samples},
                         {"discarded", row.discarded}}
                .dump() +
            "\n";
  }
  return text;
}

std::string series_lines(const Results& results) {
  std::string text;
  for (const Row& row : results.rows) {
    if (row.outcome != Outcome::measured || row.moments.empty()) continue;
    ordered_json json = {{"name", row.name},
                         {"repetition_index", row.repetition},
                         {"device_kind", results.context.at("device_kind")},
                         {"device", results.context.at("device")},
                         {"date", results.context.at("date")},
                         {"verdict", row.words.at("verdict")},
                         {"figure", row.headline}};
    const auto known = [](const std::optional<double>& value) {
      return value ? ordered_json(*value) : ordered_json();
    };
    for (const Moment& moment : row.moments) {
      json["seconds"].push_back(moment.seconds);
      json["rate"].push_back(moment.rate);
      json["sm_clock_hz"].push_back(known(moment.health.sm_clock_hz));
      json["power_w"].push_back(known(moment.health.power_w));
      json["temperature_c"].push_back(known(moment.health.temperature_c));
      const auto& reasons = moment.health.reasons;
      json["reasons"].push_back(reasons ? ordered_json(words_of(*reasons)) : ordered_json());
    }
    text += json.dump() + "\n";
  }
  return text;
}

void check_writable(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    throw UsageError("cannot write '" + path.string() + "': it is a directory");
  }
  const std::filesystem::path partial = beside(path);
  if (!std::ofstream(partial)) cannot_write(path);
  std::filesystem::remove(partial);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path partial = beside(path);
  std::ofstream file(partial, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(partial.c_str(), path.c_str()) != 0) {
    const int why = errno;
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    errno = why;
    cannot_write(path);
  }
}

}  // namespace gpubench
