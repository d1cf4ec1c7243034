// async_copy: load the next tile while computing this one.
//
// A block works through the tiles of its piece of the input, one after the other: each is brought
// to shared memory, and every word of it goes through a chain of multiply-adds. The kernels differ
// in how it gets there, and in how many tiles are in flight while one is computed.
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "bulk_copy.hpp"
#include "dynamic_shared.hpp"
#include "kernels/common/fma_step.cuh"

namespace async_copy {

inline constexpr unsigned threads = 128;
inline constexpr unsigned steps = 24;  // multiply-adds of a word
inline constexpr unsigned words_a_vector = sizeof(float4) / sizeof(float);
// What the block loads with one vector a thread; a tile is a few of these.
inline constexpr unsigned row_bytes = threads * sizeof(float4);
inline constexpr unsigned block_bytes = 1u << 17;  // of a block's piece of the input

__host__ __device__ inline float worked(float a, float b, float c, float d) {
  for (unsigned s = 0; s < steps; ++s) {  // four chains side by side
    a = fma_step(a);
    b = fma_step(b);
    c = fma_step(c);
    d = fma_step(d);
  }
  return (a + b) + (c + d);
}

// Adds what a thread makes of its share of a tile: not of what it has loaded itself.
__device__ inline float work_on(const float4* tile, unsigned vectors, float sum) {
  for (unsigned v = 0; v < vectors; ++v) {
    const float4 x = tile[v * threads + threads - 1 - threadIdx.x];
    sum += worked(x.x, x.y, x.z, x.w);
  }
  return sum;
}

__device__ inline void write_sum(float* sums, float sum) {
  sums[blockIdx.x * std::size_t{threads} + threadIdx.x] = sum;
}

// --- through registers: load, store, meet, compute ---

template <unsigned vectors>
__global__ void __launch_bounds__(threads) plain(const float4* in, float* sums) {
  constexpr unsigned tile = vectors * threads, tiles = block_bytes / sizeof(float4) / tile;
  auto* stage = static_cast<float4*>(dynamic_shared());
  const float4* from = in + blockIdx.x * std::size_t{tiles} * tile;
  float sum = 0;
#pragma unroll 1
  for (unsigned t = 0; t < tiles; ++t) {
    float4 got[vectors];
#pragma unroll
    for (unsigned v = 0; v < vectors; ++v) got[v] = from[t * tile + v * threads + threadIdx.x];
    __syncthreads();  // nobody needs tile t - 1 any more; and no compiler stores between the loads
#pragma unroll
    for (unsigned v = 0; v < vectors; ++v) stage[v * threads + threadIdx.x] = got[v];
    __syncthreads();
    sum = work_on(stage, vectors, sum);
  }
  write_sum(sums, sum);
}

// --- cp.async: every thread copies its share of a tile, past the registers ---

template <unsigned stages>
__global__ void __launch_bounds__(threads)
    cp_async(const float4* in, float* sums, unsigned vectors) {
  const unsigned tile = vectors * threads;
  const auto tiles = static_cast<unsigned>(block_bytes / sizeof(float4) / tile);
  auto* stage = static_cast<float4*>(dynamic_shared());
  const float4* from = in + blockIdx.x * std::size_t{tiles} * tile;
  const auto fetch = [&](unsigned t) {
    for (unsigned i = threadIdx.x; t < tiles && i < tile; i += threads) {
      __pipeline_memcpy_async(&stage[t % stages * tile + i], &from[t * tile + i], sizeof(float4));
    }
    __pipeline_commit();  // empty at the end, so that the count below stays right
  };
  for (unsigned t = 0; t + 1 < stages; ++t) fetch(t);
  float sum = 0;
#pragma unroll 1
  for (unsigned t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(stages - 2);
    __syncthreads();  // tile t is there, all of it, and nobody needs tile t - 1 any more
    fetch(t + stages - 1);
    sum = work_on(stage + t % stages * tile, vectors, sum);
  }
  write_sum(sums, sum);
}

// --- cp.async.bulk: one thread asks for the tile, the copy engine brings it ---

inline constexpr unsigned most_stages = 8;
inline constexpr unsigned barrier_bytes = 128;  // of shared memory, before the stages
static_assert(most_stages * sizeof(Mbarrier) <= barrier_bytes);

static __global__ void __launch_bounds__(threads)
    bulk(const float4* in, float* sums, unsigned vectors, unsigned stages) {
  const unsigned tile = vectors * threads;
  const auto tiles = static_cast<unsigned>(block_bytes / sizeof(float4) / tile);
  auto* arrived = static_cast<Mbarrier*>(dynamic_shared());
  auto* stage = reinterpret_cast<float4*>(static_cast<char*>(dynamic_shared()) + barrier_bytes);
  const float4* from = in + blockIdx.x * std::size_t{tiles} * tile;
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < stages; ++s) mbarrier_init(&arrived[s]);
  }
  __syncthreads();
  const auto fetch = [&](unsigned t) {
    if (threadIdx.x != 0 || t >= tiles) return;
    const auto bytes = static_cast<unsigned>(tile * sizeof(float4));
    mbarrier_expect(&arrived[t % stages], bytes);
    bulk_copy(stage + t % stages * tile, from + t * tile, bytes, &arrived[t % stages]);
  };
  for (unsigned t = 0; t + 1 < stages; ++t) fetch(t);
  float sum = 0;
#pragma unroll 1
  for (unsigned t = 0; t < tiles; ++t) {
    mbarrier_wait(&arrived[t % stages], t / stages % 2);
    __syncthreads();  // nobody needs tile t - 1 any more
    fetch(t + stages - 1);
    sum = work_on(stage + t % stages * tile, vectors, sum);
  }
  write_sum(sums, sum);
}

// --- what they must compute ---

template <class Source>
struct ExpectedSums {
  Source in;
  unsigned vectors;
  __host__ __device__ float operator()(std::size_t i) const {
    const std::size_t block = i / threads, mirrored = threads - 1 - i % threads;
    float sum = 0;
    for (std::size_t v = 0; v < block_bytes / row_bytes; ++v) {
      const std::size_t at = (block * (block_bytes / row_bytes) + v) * threads * words_a_vector +
                             mirrored * words_a_vector;
      sum += worked(in(at), in(at + 1), in(at + 2), in(at + 3));
    }
    return sum;
  }
};

// --- what theory says they cost ---

// The cycles of a block that is alone on its SM: a tile takes `latency` until it is there
// and `own` to be worked through, with `ahead` tiles under way meanwhile. None: first the one, then
// the other. Else nobody works until the first is there, and each further one has `ahead` turns to
// arrive.
constexpr double block_cycles(double tiles, double latency, double own, unsigned ahead) {
  if (ahead == 0) return tiles * (latency + own);
  return latency + (tiles - 1) * std::max(own, latency / ahead) + own;
}

}  // namespace async_copy
