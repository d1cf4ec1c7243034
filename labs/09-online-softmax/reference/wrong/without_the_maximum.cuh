// expect: correct lab/large
// exp of the values as they are: right, until they are large.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

static __global__ void softmax(const float* in, float* out, unsigned columns, float scale) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  __shared__ float held[256];
  float sum = 0;
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) sum += expf(scale * in[row + c]);
  held[threadIdx.x] = sum;
  for (unsigned apart = 128; apart > 0; apart /= 2) {
    __syncthreads();
    if (threadIdx.x < apart) held[threadIdx.x] += held[threadIdx.x + apart];
  }
  __syncthreads();
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    out[row + c] = expf(scale * in[row + c]) / held[0];
  }
}
