// A whole run, before it is written as JSON, CSV or a table.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/bench/registry.hpp"
#include "harness/program/options.hpp"
#include "harness/records/row.hpp"

namespace gpubench {

// Google Benchmark's indices of a row: of its kernel, and among the rows of that.
struct Place {
  int family = 0, instance = 0;
};
// By name, for every row that a run was asked for: where it ends early, its rows keep theirs.
std::map<std::string, Place> places_of(const std::vector<Instance>& rows);

// Statistics over repetitions, as Google Benchmark worked them out.
using Aggregates = std::vector<benchmark::BenchmarkReporter::Run>;

// NOLINTNEXTLINE(bugprone-exception-escape): an ordered_json promises nothing about being moved
struct Results {
  std::vector<Row> rows;
  std::map<std::string, Place> places;
  Aggregates aggregates;
  nlohmann::ordered_json context;
};

// The row of each name in the middle by time, or one that was not measured.
std::vector<const Row*> one_of_each_name(const std::vector<Row>& rows);
// By name: how many repetitions were measured; 0 where one of them was not.
std::map<std::string, int> times_measured(const std::vector<Row>& rows);
// Whether a repeated row is written as its aggregates alone; an interrupted run has none.
bool only_aggregates(const Results& results, const Options& options);
// A statistic of the repetitions' times, in `unit`; a ratio stays one.
double aggregate_time(const benchmark::BenchmarkReporter::Run& run, const TimeUnit& unit);

}  // namespace gpubench
