// expect: counters words of global memory
// Right, and reads the row three times.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

static __device__ float over_block(float value, bool largest) {
  __shared__ float warps[8];
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = largest ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
  for (unsigned w = 1; w < 8; ++w) value = largest ? fmaxf(value, warps[w]) : value + warps[w];
  return value;
}

static __global__ void softmax(const float* in, float* out, unsigned columns, float scale) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float largest = -INFINITY, sum = 0;
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    largest = fmaxf(largest, scale * in[row + c]);
  }
  largest = over_block(largest, true);
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    sum += expf(scale * in[row + c] - largest);
  }
  sum = over_block(sum, false);
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    out[row + c] = expf(scale * in[row + c] - largest) / sum;
  }
}
