// registers: what is kept in one need not be loaded again.
//
// A block multiplies two panels that lie in shared memory: a thread keeps edge x edge sums of the
// product in its registers, and in every step loads `edge` values of one panel and `edge` of the
// other for edge x edge multiply-adds. A larger tile reuses each load more often, until registers
// run out: then the compiler keeps some of the sums in local memory. `blocks` makes it promise that
// this many blocks fit on an SM at once.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace registers {

inline constexpr unsigned warp = 32;
inline constexpr unsigned side = 8;  // threads along each panel
inline constexpr unsigned threads = side * side;
inline constexpr unsigned depth = 16;  // of the panels
inline constexpr unsigned rounds = 4;  // over the same panels
inline constexpr unsigned steps = depth * rounds;

// The panels' elements: small multiples of a quarter, of which sums are exact.
__host__ __device__ inline float left(unsigned k, unsigned row) {
  return (static_cast<float>((k + row) % 7) - 3) / 4;
}
__host__ __device__ inline float right(unsigned k, unsigned column) {
  return (static_cast<float>((2 * k + column) % 5) - 2) / 4;
}

// The panels of block b begin here: no two neighbours' products are the same.
__host__ __device__ inline unsigned first_row(std::size_t b) {
  return static_cast<unsigned>(b % 7);
}
__host__ __device__ inline unsigned first_column(std::size_t b) {
  return static_cast<unsigned>(b % 5);
}

// out: the sum of each thread's tile. `n` threads in all.
template <unsigned edge, unsigned blocks>
__global__ void __launch_bounds__(threads, blocks) tile(float* out, std::size_t n) {
  constexpr unsigned width = side * edge;
  __shared__ float rows[depth][width], columns[depth][width];
  for (unsigned i = threadIdx.x; i < depth * width; i += threads) {
    const unsigned k = i / width, at = i % width;
    rows[k][at] = left(k, first_row(blockIdx.x) + at);
    columns[k][at] = right(k, first_column(blockIdx.x) + at);
  }
  // A thread's elements are `side` apart: neighbours read neighbouring banks.
  const unsigned row = threadIdx.x / side, column = threadIdx.x % side;
  float sums[edge][edge] = {};
#pragma unroll 1
  for (unsigned round = 0; round < rounds; ++round) {
    __syncthreads();  // loads of one round are not those of another
#pragma unroll(edge < 4 ? 4 : 1)
    for (unsigned k = 0; k < depth; ++k) {
      float a[edge], b[edge];
#pragma unroll
      for (unsigned i = 0; i < edge; ++i) a[i] = rows[k][row + i * side];
#pragma unroll
      for (unsigned j = 0; j < edge; ++j) b[j] = columns[k][column + j * side];
#pragma unroll
      for (unsigned i = 0; i < edge; ++i) {
#pragma unroll
        for (unsigned j = 0; j < edge; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
      }
    }
  }
  float sum = 0;
#pragma unroll
  for (unsigned i = 0; i < edge; ++i) {
#pragma unroll
    for (unsigned j = 0; j < edge; ++j) sum += sums[i][j];
  }
  const std::size_t at = blockIdx.x * std::size_t{threads} + threadIdx.x;
  if (at < n) out[at] = sum;
}

// --- what it must compute ---

struct ExpectedTile {
  unsigned edge;
  __host__ __device__ float operator()(std::size_t thread) const {
    const std::size_t block = thread / threads;
    const auto row = static_cast<unsigned>(thread % threads / side),
               column = static_cast<unsigned>(thread % side);
    float sum = 0;  // exact, in whatever order
    for (unsigned k = 0; k < depth; ++k) {
      float a = 0, b = 0;
      for (unsigned i = 0; i < edge; ++i) {
        a += left(k, first_row(block) + row + i * side);
        b += right(k, first_column(block) + column + i * side);
      }
      sum += a * b;
    }
    return rounds * sum;
  }
};

// --- what theory says it costs ---

// Per warp and step: FLOPs; loads from shared memory, a wavefront each; all instructions.
inline constexpr double wavefront_bytes = 128;
constexpr double flops_a_step(double edge) { return 2 * warp * edge * edge; }
constexpr double loads_a_step(double edge) { return 2 * edge; }
constexpr double instructions_a_step(double edge) { return loads_a_step(edge) + edge * edge; }

}  // namespace registers
