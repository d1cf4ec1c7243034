// Runs one benchmark row; what the main program needs of the bench layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/bench/registry.hpp"
#include "harness/platform/platform.hpp"
#include "harness/records/row.hpp"
#include "harness/timing/timer.hpp"

namespace gpubench {

struct BenchSettings {
  Mode mode = Mode::cold;
  bool profile = false;
  Grids grids = Grids::sampled;
  bool trace = false;   // one more run, and what happened in it
  bool energy = false;  // more runs, for as long as the driver's energy counter needs
  // Folders, for code that nobody trusts. Where results are kept, unchecked, and from where they
  // are taken to be checked by a process that runs nothing of the row.
  std::string kept_results, judged_results;
  std::uint64_t seed = 42;
  double budget_seconds = 0.5;                 // of a row
  std::optional<std::size_t> exact_samples{};  // of a row, whatever time they take
  double watch_seconds = 30;                   // of a row that is watched
  double warmup_seconds = 0.1;                 // on a device that has a clock to warm up
};

// What is known of a row before it runs.
Row row_of(const Instance& instance);
// Runs one instance to its end, whatever happens in it.
Row run_row(const Instance& instance, Platform& platform, const BenchSettings& settings);
// Whether a kernel has faulted, or never ended: then every call fails from there on, whoever makes
// it, and no further row can run in this process.
bool is_device_lost();
// The law of a row that was run before: its bench function is asked up to what it would run.
Law law_of_row(const Instance& instance, Platform& platform, const BenchSettings& settings);

}  // namespace gpubench
