// Conditions: what a device may do within CUDA's rules and the model, by itself, does not.
//
// A file of them (--conditions=FILE) makes the model device less kind, so that tests meet what a
// real device can do. Each key is optional; absent, the model behaves as ever. `ordering` is about
// what comes before what, `timing` about how long things take and how well that can be known;
// `failing_call` makes one call of the runtime fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/platform/model/conditions/timing_conditions.hpp"

namespace gpubench::model {

// One launch of one kernel, to which something happens.
struct PlantedLaunch {
  std::string kernel;      // contained in the kernel's readable name; "" is every kernel
  std::size_t launch = 1;  // which of its launches, the first is 1
  int error = 700;         // of a fault: a cudaError_t; cudaErrorIllegalAddress
};

struct Ordering {
  std::uint64_t seed = 1;  // of every random order
  // Streams share this many hardware queues, or CUDA_DEVICE_MAX_CONNECTIONS (8) where that is
  // fewer. Absent: each stream has its own.
  std::optional<int> hardware_queues{};
  // Done only when something that is ordered behind needs it.
  bool late_memsets = false;
  bool late_pageable_copies = false;  // from pageable memory to the device
  bool late_device_copies = false;
  double host_call_seconds = 0;  // what each call takes on top
  std::optional<PlantedLaunch> hang{}, fault{};
  // What cp.async.bulk brings lands not at once but when all that can run waits for it.
  bool late_bulk_copies = false;
  bool random_blocks = false;  // of a grid, one after the other in any order
  bool random_warps = false;   // of a block, and their lanes, as far as they need not wait
};

// A call of the runtime that fails.
struct PlantedCall {
  std::string function;     // as CUDA has it; "" is every function
  std::size_t call = 1;     // which of its calls, the first is 1
  int error = 999;          // a cudaError_t; cudaErrorUnknown
  bool is_lasting = false;  // every call after it fails likewise: the device is lost
};

struct Conditions {
  std::string name = "";   // the file's, without folder and ending
  std::string about = "";  // for whoever opens the file
  Ordering ordering;
  TimingConditions timing;
  std::optional<PlantedCall> failing_call{};
};

// UsageError: one line that names the file and what is wrong in it.
Conditions load_conditions(const std::filesystem::path& file);
Conditions parse_conditions(std::string_view text, const std::string& origin);

}  // namespace gpubench::model
