// expect: counters sectors
// Without a tile: right, and the writes of a warp lie a row apart.
#pragma once

#include <cuda_runtime.h>

#include "dynamic_shared.hpp"

static __global__ void transpose_padded(const float* in, float* out, unsigned rows,
                                        unsigned columns) {
  for (unsigned y = threadIdx.y; y < 32; y += 8) {
    const unsigned row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + threadIdx.x;
    if (row < rows && column < columns) out[column * rows + row] = in[row * columns + column];
  }
}

static __global__ void transpose_swizzled(const float* in, float* out, unsigned rows,
                                          unsigned columns) {
  auto* tile = static_cast<float*>(dynamic_shared());
  for (unsigned y = threadIdx.y; y < 32; y += 8) {
    const unsigned row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + threadIdx.x;
    if (row < rows && column < columns)
      tile[y * 32 + (threadIdx.x ^ y)] = in[row * columns + column];
  }
  __syncthreads();
  for (unsigned y = threadIdx.y; y < 32; y += 8) {
    const unsigned row = blockIdx.x * 32 + y, column = blockIdx.y * 32 + threadIdx.x;
    if (row < columns && column < rows)
      out[row * rows + column] = tile[threadIdx.x * 32 + (y ^ threadIdx.x)];
  }
}
