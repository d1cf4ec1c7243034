// Stores and atomic additions in a pattern of lanes.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/bank_conflicts/banks.cuh"

namespace bank_conflicts {

inline constexpr unsigned writers = 64;  // threads of a block: each warp has a window of its own

// Each lane stores at its element over and over. The warps' meetings keep the compiler from leaving
// out all stores but the last.
template <class Vector>
__global__ void write(float* last, unsigned stride) {
  constexpr unsigned words = sizeof(Vector) / sizeof(float);
  constexpr unsigned times = bytes_a_thread / sizeof(Vector);
  __shared__ Vector tile[writers / warp][window];
  Vector* const mine = &tile[threadIdx.x / warp][threadIdx.x % warp * stride];
  Vector value;
  auto* const word = reinterpret_cast<float*>(&value);
  auto first = static_cast<float>(threadIdx.x);
#pragma unroll 8
  for (unsigned i = 0; i < times; ++i) {
#pragma unroll
    for (unsigned w = 0; w < words; ++w) word[w] = first + static_cast<float>(w);
    *mine = value;
    __syncwarp();
    first += 1;
  }
  value = tile[threadIdx.x / warp][(threadIdx.x % warp ^ 1) * stride];  // a neighbour's
  float sum = 0;
#pragma unroll
  for (unsigned w = 0; w < words; ++w) sum += word[w];
  last[blockIdx.x * std::size_t{writers} + threadIdx.x] = sum;
}

inline constexpr unsigned additions = 512;  // of a thread

// All warps of the block add to the same words, `stride` words apart from lane to lane.
[[maybe_unused]] static __global__ void add(unsigned* totals, unsigned stride) {
  __shared__ unsigned tile[window];
  for (unsigned i = threadIdx.x; i < window; i += threads) tile[i] = 0;
  __syncthreads();
  unsigned* const to = &tile[threadIdx.x % warp * stride];
#pragma unroll 8
  for (unsigned i = 0; i < additions; ++i) atomicAdd(to, threadIdx.x + i);
  __syncthreads();
  totals[blockIdx.x * std::size_t{threads} + threadIdx.x] =
      tile[(threadIdx.x % warp ^ 1) * stride];  // a neighbour's
}

// --- what they must compute ---

struct ExpectedLast {
  unsigned words;
  __host__ __device__ float operator()(std::size_t i) const {
    float sum = 0;
    for (unsigned w = 0; w < words; ++w) {
      sum += static_cast<float>((i ^ 1) % writers + w + bytes_a_thread / sizeof(float) / words - 1);
    }
    return sum;
  }
};

struct ExpectedTotals {
  unsigned stride;  // 0: all lanes add to one word
  __host__ __device__ unsigned operator()(std::size_t i) const {
    unsigned total = 0;
    for (unsigned t = 0; t < threads; ++t) {
      if (stride != 0 && t % warp != (i ^ 1) % warp) continue;
      total += additions * t + additions * (additions - 1) / 2;
    }
    return total;
  }
};

}  // namespace bank_conflicts
