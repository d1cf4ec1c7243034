// A run as Google Benchmark's JSON, with what gpubench knows of device and rows:
// docs/result-file.schema.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/program/results.hpp"
#include "harness/program/roofs.hpp"

namespace gpubench {

inline constexpr int result_schema_version = 2;

// What to know of the device before trusting any row of this run, a sentence each.
std::vector<std::string> caveats_of_run(const Options& options, Platform& platform);
// The machine, the program and the settings. UsageError: a --benchmark_context key is taken.
nlohmann::ordered_json context_json(const Options& options, Platform& platform,
                                    const char* executable);
// Adds what is known when the rows are done: their roofs, concepts and axes.
void complete_context(nlohmann::ordered_json& context, const std::vector<Row>& rows,
                      const std::vector<StatedRoof>& roofs);

nlohmann::ordered_json result_json(const Results& results, const Options& options);
// NAME.samples.jsonl: the samples of each row, one line per row.
std::string samples_lines(const Results& results);
// NAME.series.jsonl: what watched rows were like over time, one line per row; "" when there are
// none.
std::string series_lines(const Results& results);

}  // namespace gpubench
