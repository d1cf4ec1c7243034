// Arithmetic whose length on a device is known beforehand: what programs of several operations fill
// their time with. (Shared by concepts that are about what lies between kernels; no concept
// itself.)
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

#include "kernels/common/fma_step.cuh"

namespace paced_work {

// Small blocks, so that a grid is a whole number of them an SM within a few percent.
inline constexpr unsigned threads = 64;
inline constexpr unsigned fmas_a_round = 8;

__host__ __device__ inline float four_times(float x) {
  return fma_step(fma_step(fma_step(fma_step(x))));
}

// Two chains side by side, so that a few warps are enough to hide a multiply-add's latency.
__host__ __device__ inline float after(float x, unsigned rounds) {
  float one = x, other = 1 - x;
  for (unsigned r = 0; r < rounds; ++r) {
    one = four_times(one);
    other = four_times(other);
  }
  return one + other;
}

// What one element must become.
template <class Source>
struct Expected {
  Source in;
  unsigned rounds;
  __host__ __device__ float operator()(std::size_t i) const { return after(in(i), rounds); }
};

// How fast a device gets through it.
struct Pace {
  double sms;
  double block_rounds_per_second;  // rounds of a whole block that one SM completes
  double floor_seconds;            // of a kernel that has next to nothing to do
  double lead_seconds;             // of these, what overlaps with the next kernel's start

  // Time of a kernel of `blocks` blocks: the SM that has the most of them decides.
  double seconds(double blocks, double rounds) const {
    return floor_seconds + std::ceil(blocks / sms) * rounds / block_rounds_per_second;
  }
  // Rounds with which `blocks` blocks last about `seconds`, all SMs at work.
  unsigned rounds(double seconds, double blocks) const {
    return static_cast<unsigned>(
        std::fmax(std::round(seconds * sms * block_rounds_per_second / blocks), 1));
  }
  // Blocks for a kernel that lasts `seconds`: the same number on every SM, at least one.
  unsigned blocks(double seconds, double rounds) const {
    const double an_sm = std::round((seconds - floor_seconds) * block_rounds_per_second / rounds);
    return static_cast<unsigned>(sms * std::fmax(an_sm, 1));
  }
};

// From the figures of a device file, whatever type holds them.
template <class Device>
Pace pace_of(const Device& device) {
  const double fmas_per_clock = device["fp32_flops_per_clock_per_sm"] / 2;
  return {device["sm_count"],
          fmas_per_clock * device["sm_clock_hz"] / (threads * double{fmas_a_round}),
          device["kernel_floor_seconds"],
          std::fmax(device["kernel_floor_seconds"] - device["launch_stream_seconds"], 0)};
}

}  // namespace paced_work
