// expect: correct race
// The last warp goes on without barriers, as was safe before warps could diverge.
#pragma once

#include <cuda_runtime.h>

static __global__ void block_sums(const float* in, float* sums, unsigned n) {
  const unsigned first = blockIdx.x * 4096 + threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < 16; ++k) {
    const unsigned i = first + k * 256;
    if (i < n) sum += in[i];
  }
  __shared__ float held[256];
  held[threadIdx.x] = sum;
  for (unsigned apart = 128; apart > 16; apart /= 2) {
    __syncthreads();
    if (threadIdx.x < apart) held[threadIdx.x] += held[threadIdx.x + apart];
  }
  if (threadIdx.x < 16) {
    for (unsigned apart = 16; apart > 0; apart /= 2) {
      held[threadIdx.x] += held[threadIdx.x + apart];
    }
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = held[0];
}
