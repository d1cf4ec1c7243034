// Two tiles in shared memory, of which four warps multiply 16 x 16 each. Ragged rows come element
// by element; of padded ones a lane brings eight elements at once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <warp_mma.hpp>

constexpr unsigned row_multiple = 32;
constexpr unsigned depth = 32;
constexpr unsigned shared_row = 40;  // elements: eight rows of 20 words begin in different banks

using Tile = __nv_bfloat16[32][shared_row];

// Two neighbours of a row as one word.
static __device__ unsigned pair_at(const Tile& tile, unsigned row, unsigned column) {
  return *reinterpret_cast<const unsigned*>(&tile[row][column]);
}

static __device__ void multiply_tiles(const Tile& of_a, const Tile& of_b, float (&sums)[2][4]) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const unsigned row = warp / 2 * 16 + g;
  for (unsigned k = 2 * t; k < depth; k += 16) {
    const unsigned a[4] = {pair_at(of_a, row, k), pair_at(of_a, row + 8, k),
                           pair_at(of_a, row, k + 8), pair_at(of_a, row + 8, k + 8)};
    for (unsigned j = 0; j < 2; ++j) {
      const unsigned column = warp % 2 * 16 + 8 * j + g;
      const unsigned b[2] = {pair_at(of_b, column, k), pair_at(of_b, column, k + 8)};
      mma_m16n8k16_bf16(sums[j], a, b, sums[j]);
    }
  }
}

static __device__ void store(const float (&sums)[2][4], float* d, unsigned m, unsigned n) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  for (unsigned j = 0; j < 2; ++j) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = blockIdx.y * 32 + warp / 2 * 16 + g + i / 2 * 8;
      const unsigned column = blockIdx.x * 32 + warp % 2 * 16 + 8 * j + 2 * t + i % 2;
      if (row < m && column < n) d[row * n + column] = sums[j][i];
    }
  }
}

// What one thread brings of a tile: column threadIdx.x % 32 of every fourth row.
using Staged = __nv_bfloat16[8];

static __device__ void load_elements(Staged& to, const __nv_bfloat16* from, unsigned first_row,
                                     unsigned rows, unsigned first, unsigned columns) {
  const unsigned column = first + threadIdx.x % 32;
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned row = first_row + threadIdx.x / 32 + 4 * i;
    const bool exists = row < rows && column < columns;
    to[i] = exists ? from[row * columns + column] : __float2bfloat16(0);
  }
}

static __device__ void store_elements(Tile& to, const Staged& from) {
  for (unsigned i = 0; i < 8; ++i) to[threadIdx.x / 32 + 4 * i][threadIdx.x % 32] = from[i];
}

// What both matrices bring is asked for before any of it is waited for.
static __global__ void multiply_ragged(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d,
                                       unsigned m, unsigned n, unsigned k) {
  __shared__ __align__(16) Tile of_a, of_b;
  float sums[2][4] = {};
  for (unsigned first = 0; first < k; first += depth) {
    Staged from_a, from_b;
    load_elements(from_a, a, blockIdx.y * 32, m, first, k);
    load_elements(from_b, b, blockIdx.x * 32, n, first, k);
    store_elements(of_a, from_a);
    store_elements(of_b, from_b);
    __syncthreads();
    multiply_tiles(of_a, of_b, sums);
    __syncthreads();
  }
  store(sums, d, m, n);
}

static __global__ void pad(const __nv_bfloat16* from, __nv_bfloat16* to, unsigned rows,
                           unsigned columns, unsigned stride) {
  const unsigned row = blockIdx.x;
  for (unsigned i = threadIdx.x; i < stride; i += 128) {
    const bool exists = row < rows && i < columns;
    to[row * stride + i] = exists ? from[row * columns + i] : __float2bfloat16(0);
  }
}

// Eight lanes bring 16 bytes of eight rows: they store to 32 different banks.
static __global__ void multiply_padded(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d,
                                       unsigned m, unsigned n, unsigned stride) {
  __shared__ __align__(16) Tile of_a, of_b;
  const unsigned row = threadIdx.x / 32 * 8 + threadIdx.x % 8, column = threadIdx.x % 32 / 8 * 8;
  const __nv_bfloat16* const row_a = a + (blockIdx.y * 32 + row) * stride + column;
  const __nv_bfloat16* const row_b = b + (blockIdx.x * 32 + row) * stride + column;
  float sums[2][4] = {};
  for (unsigned first = 0; first < stride; first += depth) {
    const uint4 from_a = *reinterpret_cast<const uint4*>(row_a + first);
    const uint4 from_b = *reinterpret_cast<const uint4*>(row_b + first);
    *reinterpret_cast<uint4*>(&of_a[row][column]) = from_a;
    *reinterpret_cast<uint4*>(&of_b[row][column]) = from_b;
    __syncthreads();
    multiply_tiles(of_a, of_b, sums);
    __syncthreads();
  }
  store(sums, d, m, n);
}
