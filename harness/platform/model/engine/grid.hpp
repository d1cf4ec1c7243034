// A launch's grid and arguments, as numbers.
#pragma once

#include <cmath>
#include <cstdint>

#include "harness/platform/model/emulator/block_result.hpp"
#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

inline std::uint64_t linear(dim3 extent) {
  return static_cast<std::uint64_t>(extent.x) * extent.y * extent.z;
}

inline double warps_of(const KernelLaunch& launch) {  // a block
  return std::ceil(static_cast<double>(linear(launch.block)) / warp_lanes);
}

inline dim3 block_at(std::uint64_t index, dim3 grid) {
  return {static_cast<unsigned>(index % grid.x), static_cast<unsigned>(index / grid.x % grid.y),
          static_cast<unsigned>(index / grid.x / grid.y)};
}

// Where a word of arguments points to; null if it is no pointer to device memory.
inline const Allocation* allocation_at(const DeviceMemory& memory, std::uint64_t word) {
  const auto* pointer = reinterpret_cast<const void*>(word);
  return memory.in_range(pointer) ? memory.find(pointer) : nullptr;
}

}  // namespace gpubench::model
