// data_pipeline: items that threads of the host produce, a link carries and a kernel consumes.
//
// An item is `elements` numbers, which its file holds as bytes. Whoever decodes them makes floats
// of the bytes: the producer, whose item is then four times as long on the link, or the kernel.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/link.cuh"
#include "kernels/common/paced_work.cuh"

namespace data_pipeline {

using byte = std::uint8_t;
inline constexpr unsigned elements = 1 << 17;  // of an item
inline constexpr unsigned items = 48;
inline constexpr unsigned ahead = 2;  // items that the host hands to the GPU before it waits
inline constexpr double decoding_share = 0.75;  // of a producer's work on an item
inline constexpr double kernel_seconds = 25e-6;

__host__ __device__ inline float decoded(byte x) { return static_cast<float>(x) / 256; }
__host__ __device__ inline float decoded(float x) { return x; }

// One number per thread.
template <class In>
__global__ void consume(const In* item, float* out, unsigned rounds) {
  const unsigned i = blockIdx.x * paced_work::threads + threadIdx.x;
  out[i] = paced_work::after(decoded(item[i]), rounds);
}

// A GPU that is busy, whatever its grid.
[[maybe_unused]] static __global__ void keep_busy(const float* in, float* out, unsigned rounds) {
  const unsigned i = blockIdx.x * paced_work::threads + threadIdx.x;
  out[i] = paced_work::after(in[i], rounds);
}

// --- what it must compute ---

// What the files hold: number i of all items.
struct File {
  __host__ __device__ byte operator()(std::size_t i) const {
    return static_cast<byte>((i * 0x9e3779b97f4a7c15u) >> 56);
  }
};

struct Expected {
  unsigned rounds;
  __host__ __device__ float operator()(std::size_t i) const {
    return paced_work::after(decoded(File{}(i)), rounds);
  }
};

// --- what theory says it costs ---

// Seconds per item of everybody who has a part in it.
struct Stages {
  double work;         // a producer's
  unsigned producers;  // that work side by side; 0: the thread that drives the GPU does it itself
  double drive;        // the thread that drives the GPU
  double link, kernel;

  constexpr double host() const { return drive + (producers == 0 ? work : 0); }
  double producing() const { return producers == 0 ? host() : std::max(work / producers, drive); }
  double longest() const { return std::max({producing(), link, kernel}); }
};

// From the first item's work to the last one's kernel: the slowest stage decides, and the first
// item has to come to it and the last one from there.
inline double loop_seconds(const Stages& s, unsigned count) {
  const double first = s.work + s.drive;
  const double produced =
      s.producers == 0 ? count * s.host() : std::ceil(double(count) / s.producers) * s.work;
  return std::max({produced + s.link + s.kernel, first + (count - 1) * s.drive + s.link + s.kernel,
                   first + count * s.link + s.kernel, first + s.link + count * s.kernel});
}

// In a kernel of fewer blocks than fill the SMs, each warp waits for its own chains.
inline double chain_seconds(double rounds, double latency_cycles, double clock) {
  constexpr double chained = paced_work::fmas_a_round / 2.0;
  return rounds * chained * latency_cycles / clock;
}

}  // namespace data_pipeline
