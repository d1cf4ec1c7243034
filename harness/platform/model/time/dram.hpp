// How long device memory takes for reads and writes that come together.
#pragma once

#include <cmath>

#include "harness/devices/device.hpp"

namespace gpubench::model {

// [s] for so many bytes each way. What the best kernels reach lies between reads alone, half of
// each, and writes alone: in a straight line.
inline double dram_seconds(double read_bytes, double written_bytes, const DeviceSpec& device) {
  const double bytes = read_bytes + written_bytes;
  const double writes = bytes > 0 ? written_bytes / bytes : 0;
  const double mixed = device["dram_mixed_efficiency"];
  const double efficiency = writes < 0.5
                                ? std::lerp(device["dram_read_efficiency"], mixed, 2 * writes)
                                : std::lerp(mixed, device["dram_write_efficiency"], 2 * writes - 1);
  return bytes / (device["dram_bytes_per_second"] * efficiency);
}

}  // namespace gpubench::model
