// What nvcc made of each kernel, also for those who have no nvcc: compiled.json, which
// scripts/audit writes.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "harness/devices/device.hpp"
#include "harness/platform/platform.hpp"

namespace gpubench::model {

// A kernel for one architecture.
struct CompiledKernel {
  unsigned registers = 0;               // a thread
  std::size_t static_shared_bytes = 0;  // a block
  std::size_t local_bytes = 0;          // a thread: arrays that are indexed, spilled registers
  bool knows_local_bytes = true;
  // What a thread moves to and from local memory, once through the code, and of that in each turn
  // of the innermost loops of multiply-adds; and how many of those a turn has.
  double local_traffic_bytes = 0, local_loop_bytes = 0, multiply_adds = 0;
  bool has_local_price = true;  // false: some is moved in other loops, and nobody knows how often
  // Words of local memory, 4 bytes per lane, that `warps` warps move which issue so many
  // multiply-adds in all. What lies in an outer loop counts once. 0 without a price.
  double local_words(double warps, double issued) const;
  // By kind of access ("shared load"), how the compiled code departs from the source's stream of
  // accesses, which is what the emulator counts. None: it does not.
  std::map<std::string, std::string> counts;
};

// The kernel of this readable name, for the device's architecture; nullptr when nobody knows.
const CompiledKernel* compiled_kernel(const DeviceSpec& device, const std::string& kernel);

// "global load"
const char* words_for(RowAccess access);

// What counts of such accesses are worth: "exact", or "source stream; " and the difference.
std::string worth_of_counts(const CompiledKernel& kernel, RowAccess access);

}  // namespace gpubench::model
