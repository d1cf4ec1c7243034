#include "harness/program/result_json.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/program/output_file.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

ordered_json headline_json(const Headline& headline) {
  return {{"name", headline.name},
          {"unit", headline.unit},
          {"better", headline.lower_is_better ? "lower" : "higher"}};
}

ordered_json bytes_json(const MovedBytes& moved) {
  ordered_json json;
  const auto add = [&](const char* level, const std::optional<double>& bytes) {
    if (bytes) json[level] = *bytes;
  };
  add("dram", moved.dram);
  add("l2", moved.l2);
  add("l1", moved.l1);
  add("shared", moved.shared);
  return json;
}

// Whose axes these are, as far as the context says something else of them, or nothing.
ordered_json axes_json(const Row& row, const ordered_json& context) {
  ordered_json json;
  for (const auto& [axis, unit] : row.axis_units) {
    if (!context.contains(axis) || context.at(axis) != unit) json[axis] = unit;
  }
  return json;
}

void add_counts(ordered_json& json, const Row& row) {
  for (const auto& [name, seconds] : row.terms) json["terms"][name] = seconds;
  for (const auto& [name, count] : row.instructions) json["instructions"][name] = count;
  for (const Launched& launched : row.launches) {
    ordered_json one = {{"kernel", launched.kernel}, {"times", launched.times}};
    one["figures"] = launched.figures;
    if (!launched.departures.empty()) one["departures"] = launched.departures;
    json["launches"].push_back(std::move(one));
  }
}

void add_measurement(ordered_json& json, const Row& row, const TimeUnit& unit) {
  json["iterations"] = row.samples.size();
  json["real_time"] = row.median_seconds * unit.in_a_second;
  json["cpu_time"] = json["real_time"];  // the device's time is the only one there is
  json["time_unit"] = unit.name;
  json["headline"] = headline_json(row.headline);
  const auto say = [&](const char* key, const std::string& words) {
    if (!words.empty()) json[key] = words;
  };
  say("label", row.bound);
  say("grade_roof", row.grade_roof);
  say("measures", row.measures);
  say("verified", row.verified);
  say("counts", row.counts);
  say("assuming", row.assuming);
  if (!row.notes.empty()) json["notes"] = row.notes;
  for (const auto& [name, words] : row.words) json[name] = words;
  if (row.counters.contains("flops_per_second")) json["arithmetic_unit"] = row.arithmetic_unit;
  if (const ordered_json bytes = bytes_json(row.moved); !bytes.empty()) json["bytes"] = bytes;
  for (const auto& [name, value] : row.counters) {
    if (std::isfinite(value)) json[name] = value;
  }
  add_counts(json, row);
}

ordered_json row_json(const Row& row, const Place& place, int repetitions, const TimeUnit& unit,
                      const ordered_json& axes) {
  ordered_json json = {{"name", row.name},
                       {"family_index", place.family},
                       {"per_family_instance_index", place.instance},
                       {"run_name", row.name},
                       {"run_type", "iteration"},
                       {"repetitions", repetitions},
                       {"repetition_index", row.repetition},
                       {"threads", 1},
                       {"concept", row.topic},
                       {"kernel", row.kernel}};
  json["arguments"] = ordered_json::object();
  for (const auto& [name, value] : row.arguments) {
    json["arguments"][name] =
        std::visit([](const auto& argument) { return ordered_json(argument); }, value);
  }
  if (const ordered_json own = axes_json(row, axes); !own.empty()) json["axes"] = own;
  if (!row.source.empty()) json["source"] = row.source;
  if (row.outcome == Outcome::skipped) {
    json["skipped"] = true;
    json["skip_reason"] = row.reason;
  } else if (row.outcome == Outcome::failed) {
    json["error_occurred"] = true;
    json["error_message"] = row.reason;
    json["error_kind"] = row.error_kind;
    if (!row.diagnosis.empty()) json["diagnosis"] = row.diagnosis;
  } else {
    add_measurement(json, row, unit);
  }
  return json;
}

// Where a repetition stands among the rows.
const std::set<std::string, std::less<>> only_of_rows{"family_index", "per_family_instance_index",
                                                      "repetition_index"};

// `row`: one of those that the statistic is of. `described`: what the row in the middle says of
// itself beside its numbers; null: nothing.
ordered_json aggregate_json(const benchmark::BenchmarkReporter::Run& run, const Row& row,
                            const TimeUnit& unit, ordered_json described = {}) {
  ordered_json json = {
      {"name", run.run_name.function_name + "_" + run.aggregate_name},
      {"run_name", run.run_name.function_name},
      {"run_type", "aggregate"},
      {"repetitions", run.repetitions},
      {"threads", 1},
      {"aggregate_name", run.aggregate_name},
      {"aggregate_unit", run.aggregate_unit == benchmark::kTime ? "time" : "percentage"},
      {"iterations", run.iterations}};
  for (auto& [key, value] : described.items()) {
    if (!json.contains(key) && !only_of_rows.contains(key)) json[key] = std::move(value);
  }
  json["real_time"] = aggregate_time(run, unit);
  json["cpu_time"] = json["real_time"];
  json["time_unit"] = unit.name;
  json["headline"] = headline_json(row.headline);
  if (run.counters.contains("flops_per_second")) json["arithmetic_unit"] = row.arithmetic_unit;
  for (const auto& [name, counter] : run.counters) {
    if (std::isfinite(counter.value)) json[name] = counter.value;
  }
  return json;
}

}  // namespace

ordered_json result_json(const Results& results, const Options& options) {
  const auto repeated = times_measured(results.rows);
  const ordered_json& axes = results.context.at("axes");
  std::map<std::string, int> repetitions;
  for (const Row& row : results.rows) ++repetitions[row.name];
  std::map<std::string, const Row*> middle;
  for (const Row* row : one_of_each_name(results.rows)) middle[row->name] = row;
  ordered_json benchmarks = ordered_json::array();
  for (const Row& row : results.rows) {
    if (only_aggregates(results, options) && repeated.at(row.name) > 1) continue;
    benchmarks.push_back(
        row_json(row, results.places.at(row.name), repetitions[row.name], options.time_unit, axes));
  }
  for (const auto& run : results.aggregates) {
    const std::string& name = run.run_name.function_name;
    if (repeated.at(name) < 2) continue;
    const Row& row = *middle.at(name);
    // Where no repetition says what the row is, and how it was judged, the median does.
    ordered_json described;
    if (only_aggregates(results, options) && run.aggregate_name == "median") {
      described = row_json(row, {}, repetitions[name], options.time_unit, axes);
    }
    benchmarks.push_back(aggregate_json(run, row, options.time_unit, std::move(described)));
  }
  return {{"context", results.context}, {"benchmarks", std::move(benchmarks)}};
}

std::string samples_lines(const Results& results) {
  std::string text;
  for (const Row& row : results.rows) {
    if (row.outcome != Outcome::measured) continue;
    text += json_text({{"name", row.name},
                       {"repetition_index", row.repetition},
                       {"device_kind", results.context.at("device_kind")},
                       {"device", results.context.at("device")},
                       {"mode", results.context.at("mode")},
                       {"seconds", row.samples},
                       {"discarded", row.discarded}});
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
                         {"figure", row.headline.name}};
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
    text += json_text(json);
  }
  return text;
}

}  // namespace gpubench
