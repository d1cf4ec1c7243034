// stencil: each word becomes the sum of itself and `radius` neighbours to each side.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace stencil {

inline constexpr unsigned threads = 256;
inline constexpr unsigned words_a_thread = 4;
inline constexpr unsigned words_a_block = threads * words_a_thread;

// `in` has `radius` words more than `out` at each end. A grid of words / words_a_block blocks.
template <unsigned radius>
__global__ void sum(const float* in, float* out) {
  const std::size_t first = blockIdx.x * std::size_t{words_a_block} + threadIdx.x;
  float sums[words_a_thread] = {};
#pragma unroll
  for (unsigned k = 0; k <= 2 * radius; ++k) {
#pragma unroll
    for (unsigned j = 0; j < words_a_thread; ++j) sums[j] += in[first + j * threads + k];
  }
#pragma unroll
  for (unsigned j = 0; j < words_a_thread; ++j) out[first + j * threads] = sums[j];
}

// What it must compute.
template <class Source>
struct Expected {
  Source in;
  std::size_t width;
  __host__ __device__ float operator()(std::size_t i) const {
    float result = 0;
    for (std::size_t k = 0; k < width; ++k) result += in(i + k);
    return result;
  }
};

}  // namespace stencil
