// divergence: what a warp pays when its lanes take different paths.
//
// A warp runs one instruction at a time. Where its lanes diverge, it runs their paths one after the
// other, with the other lanes switched off. Two kernels, with the same number of multiply-adds in
// every row: threads that take one of several paths, and threads that iterate a loop unequally
// often.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <utility>

#include "kernels/common/fma_step.cuh"

namespace divergence {

inline constexpr unsigned warp = 32;
inline constexpr unsigned threads = 256;
inline constexpr unsigned steps = 512;  // multiply-adds of a thread, on the average

// Where thread i begins: nothing is read, so that arithmetic is all there is.
__host__ __device__ inline float beginning(std::size_t i) {
  return static_cast<float>(i % 1021) / 1024;
}

inline constexpr unsigned steps_a_round = 32;
inline constexpr unsigned rounds = steps / steps_a_round;  // of a thread, on the average

// Unrolled by hand: the host's compiler, which checks the results, knows no #pragma unroll.
template <class Step, std::size_t... s>
__host__ __device__ inline float repeat(Step step, float x, std::index_sequence<s...>) {
  ((static_cast<void>(s), x = step(x)), ...);
  return x;
}
template <class Step>
__host__ __device__ inline float a_round(Step step, float x) {
  return repeat(step, x, std::make_index_sequence<steps_a_round>{});
}

// --- an `if` ---

inline constexpr unsigned most_ways = 32;

struct PathStep {
  float summand;
  __host__ __device__ float operator()(float x) const { return fmaf(x, -0.9990234375f, summand); }
};

// All paths call the same code, from different places: lanes that come from one do not meet those
// that come from another. (Code of its own for each path would be 135 KB, and wait for the
// instruction cache.)
__host__ __device__ __noinline__ inline float go_along(PathStep step, float x) {
  for (unsigned r = 0; r < rounds; ++r) x = a_round(step, x);
  return x;
}

// Every path is as long as the others, but adds another number: no compiler can make one of two.
template <unsigned path>
__host__ __device__ float walk(float x) {
  return go_along({0.5f + path / 64.0f}, x);
}

template <unsigned first = 0>
__host__ __device__ float walk_path(unsigned path, float x) {
  if constexpr (first + 1 == most_ways) {
    return walk<first>(x);
  } else {
    if (path == first) return walk<first>(x);
    return walk_path<first + 1>(path, x);
  }
}

// The path of thread i. Interleaved: neighbours take different ones. Sorted: warps do.
__host__ __device__ inline unsigned path_of(std::size_t i, unsigned ways, bool sorted) {
  return static_cast<unsigned>((sorted ? i / warp : i) % ways);
}

static __global__ void branches(float* out, std::size_t n, unsigned ways, bool sorted) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = walk_path(path_of(i, ways, sorted), beginning(i));
}

// --- a loop ---

// Who has work: one in `ratio` of a warp's lanes, of a block's warps, or of the grid's blocks.
enum class Among : unsigned { lanes, warps, blocks };

// How often thread i of n goes round. One in `ratio` does the rounds of all.
__host__ __device__ inline unsigned rounds_of(std::size_t i, std::size_t n, Among among,
                                              unsigned ratio) {
  bool busy = i % ratio == 0;
  // Not the same warp of every block: it would always be the same scheduler's.
  if (among == Among::warps) busy = (i / warp + i / threads) % ratio == 0;
  // The first ones, so that no SM is left with one at the end.
  if (among == Among::blocks) busy = i / threads < n / threads / ratio;
  return busy ? rounds * ratio : 0;
}

struct Step {
  __host__ __device__ float operator()(float x) const { return fma_step(x); }
};

__host__ __device__ inline float go_round(float x, unsigned times) {
  for (unsigned r = 0; r < times; ++r) x = a_round(Step{}, x);
  return x;
}

static __global__ void trips(float* out, std::size_t n, Among among, unsigned ratio) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = go_round(beginning(i), rounds_of(i, n, among, ratio));
}

// --- what they must compute ---

struct ExpectedBranches {
  unsigned ways;
  bool sorted;
  __host__ __device__ float operator()(std::size_t i) const {
    return walk_path(path_of(i, ways, sorted), beginning(i));
  }
};

struct ExpectedTrips {
  std::size_t n;
  Among among;
  unsigned ratio;
  __host__ __device__ float operator()(std::size_t i) const {
    return go_round(beginning(i), rounds_of(i, n, among, ratio));
  }
};

// --- what theory says they cost ---

// Passes that a warp makes over multiply-adds that would be one if its lanes agreed.
constexpr double passes(unsigned ways, bool sorted) { return sorted ? 1 : ways; }

// FLOP/s of an SM on which `busy` warps have one multiply-add in flight a lane, each `latency`
// seconds long: what is left when the others have nothing to do, and keep their places.
constexpr double flops_a_second(double busy, double latency) { return 2 * warp * busy / latency; }

}  // namespace divergence
