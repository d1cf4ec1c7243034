// What the model's CUDA runtime asks of whoever runs kernels: the emulator in the program, a fake
// of known durations in the runtime's own tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "harness/platform/model/include/device_language.h"
#include "harness/platform/model/memory/touches.hpp"

namespace gpubench::model {

struct KernelLaunch {
  const void* function = nullptr;  // the kernel's address: its identity
  const char* name = "";           // as the compiler spells it
  int device = 0;
  dim3 grid;
  dim3 block;
  unsigned cluster = 1;  // blocks of a cluster, neighbours along x
  // Blocks that are run side by side: a cluster's, or all of a small cooperative grid. Whoever runs
  // the launch decides.
  unsigned together = 1;
  std::size_t shared_bytes = 0;  // dynamic
  bool cooperative = false;      // all blocks are resident at once, and may wait for each other
  bool programmatic = false;     // may begin before the kernel before it ends
  void (*invoke)(const void* arguments) = nullptr;  // runs the kernel body for the current lane
  std::shared_ptr<const void> arguments;            // a tuple of the kernel's own parameter types
  // Their values, each in whole words that hold nothing else; inside `arguments`.
  std::span<const std::uint64_t> argument_words{};
};

// The index of the block `rank` places behind `first`, by rows of the grid.
inline dim3 block_after(dim3 first, unsigned rank, dim3 grid) {
  const unsigned x = first.x + rank, y = first.y + x / grid.x;
  return {x % grid.x, y % grid.y, first.z + y / grid.y};
}

struct KernelOutcome {
  double seconds = 0;  // modelled duration on the device, first instruction to last
  std::string error;   // not empty: the launch faulted (out of bounds, race, ...), in one line
  // How busy the kernel keeps its busiest unit (DRAM, an arithmetic unit, ...) while it runs: what
  // runs beside it can only have the rest.
  double utilisation = 0;
  Touches touches{};               // of device memory, as far as its blocks were traced
  bool is_illegal_access = false;  // the error: outside all memory, or not aligned
  bool lacks_memory = false;       // of the host: it was not carried out
};

class KernelExecutor {
 public:
  virtual ~KernelExecutor() = default;
  // Carries the kernel out, now, in program order; called from one thread at a time.
  virtual KernelOutcome execute(const KernelLaunch& launch) = 0;
};

}  // namespace gpubench::model
