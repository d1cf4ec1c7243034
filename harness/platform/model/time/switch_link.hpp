// What a GPU's link carries where the switch adds (NVLS).
#pragma once

#include "harness/devices/device.hpp"

namespace gpubench::model {

// Bytes on each GPU's link, in each direction, for each byte of a vector that `ranks` GPUs add up:
// each sends its part of all sums and its own finished share, and gets as much.
constexpr double switch_bytes_a_byte(double ranks) { return (ranks + 1) / ranks; }

// An all-reduce by NCCL for each byte of its vector, over as many GPUs as the device file's figure
// is published for, a bus bandwidth as nccl-tests counts it. NCCL takes the same for any number.
inline constexpr double switch_published_ranks = 8;
inline double switch_seconds_a_byte(const DeviceSpec& device) {
  return 2 * (switch_published_ranks - 1) / switch_published_ranks /
         device["nvlink_sharp_bytes_per_second"];
}

// One direction of the link meanwhile. What keeps that below the link's own bandwidth is not known;
// kernels of one's own are taken to meet it too.
inline double switch_link_bytes_per_second(const DeviceSpec& device) {
  return switch_bytes_a_byte(switch_published_ranks) / switch_seconds_a_byte(device);
}

}  // namespace gpubench::model
