// From rows to result files: Google Benchmark's JSON, and the same in a table or CSV.
#pragma once

#include <benchmark/benchmark.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/platform/platform.hpp"
#include "harness/program/options.hpp"
#include "harness/records/row.hpp"

namespace gpubench {

// A roof as a result file states it.
struct StatedRoof {
  std::string name;
  std::string kind;  // bandwidth or compute
  double value = 0;  // bytes/s or FLOP/s
  std::string provenance;
  std::string source;
};

// The best that this run's rows measured (or modelled), and the data sheet's. Where no row measured
// device memory, also what the device file knows it to reach.
std::vector<StatedRoof> state_roofs(const std::vector<Row>& rows, const Platform& platform);
// A roof's value by name: measured before data sheet.
Roofs best_roofs(const std::vector<StatedRoof>& stated);
// The roofs as a table: what was measured or modelled, the data sheet's figure, the fraction.
std::string roofs_text(const std::vector<StatedRoof>& stated);
// Adds law, law_ratio and roof_fraction, which need the whole run's roofs.
void judge_rows(std::vector<Row>& rows, const Roofs& roofs);

// Statistics over repetitions, as Google Benchmark worked them out.
using Aggregates = std::vector<benchmark::BenchmarkReporter::Run>;

// A whole run.
struct Results {
  std::vector<Row> rows;
  Aggregates aggregates;
  nlohmann::ordered_json context;
};

nlohmann::ordered_json result_json(const Results& results, const Options& options);
std::string result_csv(const Results& results, const Options& options);
std::string samples_lines(const Results& results);
// NAME.series.jsonl: what watched rows were like over time, a line a row; "" when there are none.
std::string series_lines(const Results& results);
// A line a row, prefixes and all; `width`: of the name column.
std::string console_header(std::size_t width);
std::string console_line(const Row& row, std::size_t width);
std::string terms_line(const Row& row);
// Of the rows that were repeated, and measured every time.
std::string console_aggregates(const Results& results, std::size_t width);
// The table as a file: which device, and whether it was modelled, first.
std::string console_text(const Results& results, const Options& options, std::size_t width);
// "gpubench: NVIDIA H200: MODELLED, ...": what every table begins with.
std::string headline_text(const nlohmann::ordered_json& context);

// Whole or not at all: written beside itself, then renamed. UsageError names the path.
void write_file(const std::filesystem::path& path, const std::string& text);
// UsageError when write_file() could not succeed: asked before hours of measuring.
void check_writable(const std::filesystem::path& path);

// With the prefix that leaves one to three digits before the point: "4.31 T".
std::string with_prefix(double value, const std::string& unit);

}  // namespace gpubench
