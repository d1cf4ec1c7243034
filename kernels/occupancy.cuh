// occupancy: how many warps it takes to hide a latency.
//
// Two kernels that wait for nothing but their own data: a copy with `unroll` loads in flight per
// thread, and `ilp` chains of dependent multiply-adds side by side. Neither touches shared memory:
// dynamic shared memory is asked for at the launch only to limit how many blocks fit.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "kernels/common/fma_step.cuh"

namespace occupancy {

inline constexpr unsigned warp = 32;

// --- memory ---

inline constexpr unsigned elements_a_thread = 64;

// Round for round, a block copies `unroll` elements per thread: all loads, then all stores.
template <unsigned unroll>
__global__ void copy(const float* in, float* out, std::size_t n) {
  std::size_t at = blockIdx.x * std::size_t{elements_a_thread} * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (unsigned round = 0; round < elements_a_thread / unroll; ++round) {
    float got[unroll];
#pragma unroll
    for (unsigned k = 0; k < unroll; ++k) {
      const std::size_t i = at + k * blockDim.x;
      got[k] = i < n ? in[i] : 0.0f;
    }
#pragma unroll
    for (unsigned k = 0; k < unroll; ++k) {
      const std::size_t i = at + k * blockDim.x;
      if (i < n) out[i] = got[k];
    }
    at += unroll * blockDim.x;
  }
}

// --- arithmetic ---

// Where chain c of thread i begins: nothing is read, so that arithmetic is all there is to wait
// for.
__host__ __device__ inline float beginning(std::size_t i, unsigned c) {
  return static_cast<float>(i % 1021 + c) / 1024;
}

// The sum of where `ilp` chains end; together they are `steps` multiply-adds long.
template <unsigned ilp, unsigned steps>
__device__ float chains(std::size_t i) {
  float x[ilp];
#pragma unroll
  for (unsigned c = 0; c < ilp; ++c) x[c] = beginning(i, c);
#pragma unroll(ilp > 8 ? 1 : 32 / ilp)
  for (unsigned s = 0; s < steps / ilp; ++s) {
#pragma unroll
    for (unsigned c = 0; c < ilp; ++c) x[c] = fma_step(x[c]);
  }
  float sum = 0;
#pragma unroll
  for (unsigned c = 0; c < ilp; ++c) sum += x[c];
  return sum;
}

// Long beside the few hundred cycles in which a block that has ended is replaced.
inline constexpr unsigned fma_steps = 8192;

template <unsigned ilp>
__global__ void fma(float* out, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = chains<ilp, fma_steps>(i);
}

// --- waves of blocks ---

inline constexpr unsigned wave_threads = 1024;  // enough to fill an SM's units by itself
inline constexpr unsigned wave_ilp = 4, wave_steps = 16384;

[[maybe_unused]] static __global__ void __launch_bounds__(wave_threads) wave(float* out) {
  const std::size_t i = blockIdx.x * std::size_t{wave_threads} + threadIdx.x;
  out[i] = chains<wave_ilp, wave_steps>(i);
}

// --- registers ---

inline constexpr unsigned capped_threads = 256;
inline constexpr unsigned capped_steps = 12288;

// `values` chains, each in a register of its own, while the compiler has promised that `blocks`
// blocks fit on an SM at once: what finds no register is spilled to memory.
template <unsigned values, unsigned blocks>
__global__ void __launch_bounds__(capped_threads, blocks) capped(float* out, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t{capped_threads} + threadIdx.x;
  if (i < n) out[i] = chains<values, capped_steps>(i);
}

// --- what they must compute ---

struct ExpectedChains {
  unsigned ilp, steps;
  __host__ __device__ float operator()(std::size_t i) const {
    float sum = 0;
    for (unsigned c = 0; c < ilp; ++c) {
      float x = beginning(i, c);
      for (unsigned s = 0; s < steps / ilp; ++s) x = fma_step(x);
      sum += x;
    }
    return sum;
  }
};

// --- what theory says they cost ---

// The share of the time that so many equal blocks keep the GPU busy, if `at_once` of them fit: the
// last wave takes as long as a full one.
constexpr double wave_efficiency(std::size_t blocks, std::size_t at_once) {
  const std::size_t waves = (blocks + at_once - 1) / at_once;
  return static_cast<double>(blocks) / static_cast<double>(waves * at_once);
}

// Little's law for one SM: bytes/s that it reads when `warps` warps have `unroll` loads of a word a
// lane in flight, and each takes `latency` seconds.
constexpr double bytes_read_a_second(double warps, double unroll, double latency) {
  return warps * warp * unroll * sizeof(float) / latency;
}

// The same for multiply-adds: FLOP/s of one SM, `ilp` of each lane of `warps` warps in flight for
// `latency` seconds. Each of the SM's `schedulers` gives its warps its own share of `peak` only.
constexpr double flops_a_second(double warps, double ilp, double latency, double peak,
                                double schedulers) {
  return std::min(peak, warps * std::min(2 * warp * ilp / latency, peak / schedulers));
}

}  // namespace occupancy
