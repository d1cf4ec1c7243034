// atomics: counting keys into bins: in the same words for all blocks, or in each block's own first.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace atomics {

inline constexpr unsigned threads = 256;
inline constexpr unsigned most_bins = 1024;

// Key k belongs to bin k % bins, a power of two; counts[bin] grows by what was found. `privatised`:
// every block counts in shared memory and adds its counts in the end. Else every key is an atomic
// addition in global memory, where those to the same word take turns.
template <bool privatised>
__global__ void histogram(const unsigned* keys, unsigned* counts, unsigned bins, std::size_t n) {
  __shared__ unsigned own[most_bins];
  if constexpr (privatised) {
    for (unsigned b = threadIdx.x; b < bins; b += threads) own[b] = 0;
    __syncthreads();
  }
  unsigned* const into = privatised ? own : counts;
  const auto count = [&](unsigned key) { atomicAdd(&into[key & (bins - 1)], 1u); };
  const auto* vectors = reinterpret_cast<const uint4*>(keys);
  const std::size_t step = gridDim.x * std::size_t{threads};
  const std::size_t me = blockIdx.x * std::size_t{threads} + threadIdx.x;
  for (std::size_t v = me; v < n / 4; v += step) {
    const uint4 got = vectors[v];
    count(got.x);
    count(got.y);
    count(got.z);
    count(got.w);
  }
  if (n / 4 * 4 + me < n) count(keys[n / 4 * 4 + me]);
  if constexpr (privatised) {
    __syncthreads();
    for (unsigned b = threadIdx.x; b < bins; b += threads) {
      if (own[b] > 0) atomicAdd(&counts[b], own[b]);
    }
  }
}

// --- what they must compute ---

// How many of the first n keys belong to bin `bin`.
template <class Source>
struct ExpectedCount {
  Source keys;
  unsigned bins;
  std::size_t n;
  __host__ __device__ unsigned operator()(std::size_t bin) const {
    unsigned count = 0;
    for (std::size_t i = 0; i < n; ++i) count += (keys(i) & (bins - 1)) == bin ? 1 : 0;
    return count;
  }
};

}  // namespace atomics
