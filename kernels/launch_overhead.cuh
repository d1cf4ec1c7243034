// launch_overhead: kernels that do nothing, in a row.
//
// An empty kernel still has a counter to raise, where it is given one: that is how it is checked
// that each launch of a row runs once, and in order. It is given none while it is timed.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <utility>

#include "kernels/common/paced_work.cuh"
#include "programmatic_launch.hpp"

namespace launch_overhead {

inline constexpr unsigned threads = 32;

[[maybe_unused]] static __global__ void empty(unsigned* count) {
  if (count != nullptr && threadIdx.x == 0) *count += 1;
}

// The same, for a launch that may come early.
[[maybe_unused]] static __global__ void empty_early(unsigned* count) {
  let_next_kernel_begin();
  wait_for_kernel_before();
  if (count != nullptr && threadIdx.x == 0) *count += 1;
}

// All blocks of a cooperative launch meet so many times. In the end each has what the next one
// wrote before the last time.
inline constexpr unsigned meeting_threads = 256;
[[maybe_unused]] static __global__ void meet(unsigned rounds, unsigned* words, unsigned* ends) {
  const auto grid = cooperative_groups::this_grid();
#pragma unroll 1
  for (unsigned round = 1; round < rounds; ++round) grid.sync();
  if (threadIdx.x == 0) words[blockIdx.x] = rounds + blockIdx.x;
  grid.sync();
  if (threadIdx.x == 0) ends[blockIdx.x] = words[(blockIdx.x + 1) % gridDim.x];
}
struct ExpectedWord {
  unsigned rounds;
  __host__ __device__ unsigned operator()(std::size_t block) const {
    return rounds + static_cast<unsigned>(block);
  }
};
struct ExpectedMeeting {
  unsigned rounds, blocks;
  __host__ __device__ unsigned operator()(std::size_t block) const {
    return rounds + static_cast<unsigned>((block + 1) % blocks);
  }
};

// One element per thread.
[[maybe_unused]] static __global__ void busy(const float* in, float* out, unsigned rounds) {
  const std::size_t i = blockIdx.x * std::size_t{paced_work::threads} + threadIdx.x;
  out[i] = paced_work::after(in[i], rounds);
}

template <unsigned bytes>
struct Payload {
  unsigned words[bytes / sizeof(unsigned)];
};

// Arguments travel with the launch; the last of them is what arrives last.
template <unsigned bytes>
__global__ void with_arguments(unsigned* arrived, const __grid_constant__ Payload<bytes> payload) {
  if (arrived != nullptr && threadIdx.x == 0) {
    *arrived = payload.words[bytes / sizeof(unsigned) - 1];
  }
}

// Kernels to be launched for the first time: each its own, since each has a first time only once.
inline constexpr std::size_t fresh_kernels = 16;
template <unsigned i>
__global__ void fresh(unsigned* out) {
  if (threadIdx.x == 0) out[i] = i + 1;
}
template <unsigned... i>
constexpr std::array<void (*)(unsigned*), sizeof...(i)> all_fresh(
    std::integer_sequence<unsigned, i...>) {
  return {fresh<i>...};
}
[[maybe_unused]] static constexpr auto fresh_ones =
    all_fresh(std::make_integer_sequence<unsigned, fresh_kernels>());

// --- what they must compute ---

struct ExpectedPayload {
  unsigned last;
  __host__ __device__ unsigned operator()(std::size_t) const { return last; }
};

struct ExpectedFresh {
  __host__ __device__ unsigned operator()(std::size_t i) const {
    return static_cast<unsigned>(i) + 1;
  }
};

// --- what theory says they cost ---

// How the launches of a row are issued.
enum class By { stream, graph };

// What lies around kernels [s], from the figures of a device file.
struct Costs {
  double call;   // of the host
  double floor;  // of an empty kernel between two events
  // From one kernel to the next, if both are empty.
  double in_stream, in_graph;
  double graph_launch;

  // From the start of a kernel with so much work [s] to the next one's. Part of the floor passes
  // while the next one is being launched; the host may be slower than both.
  constexpr double spacing(By by, double work) const {
    const double empty = by == By::graph ? in_graph : in_stream;
    const double lead = floor > empty ? floor - empty : 0;
    const double next = floor + work - lead > empty ? floor + work - lead : empty;
    return by == By::stream && call > next ? call : next;
  }
  // For `launches` in a row, between the event before, whose time is written while the first is
  // being issued, and the event after, which is recorded by one more call: it comes no earlier than
  // the host is through with that.
  constexpr double row(By by, double launches, double work) const {
    const double device =
        (by == By::graph ? graph_launch : 0) + (launches - 1) * spacing(by, work) + floor + work;
    const double host = ((by == By::graph ? 1 : launches) + 1) * call;
    return device > host ? device : host;
  }
};

template <class Device>
Costs costs_of(const Device& device) {
  return {device["launch_host_seconds"], device["kernel_floor_seconds"],
          device["launch_stream_seconds"], device["launch_graph_seconds"],
          device["launch_graph_seconds"]};
}
// Where kernels may begin early.
template <class Device>
Costs early_costs_of(const Device& device) {
  Costs costs = costs_of(device);
  costs.in_stream = costs.in_graph = device["launch_programmatic_seconds"];
  return costs;
}

// The length of a kernel of which `overhead` [s] a launch is no more than `share`.
constexpr double length_for_share(double overhead, double share) {
  return overhead * (1 - share) / share;
}

}  // namespace launch_overhead
