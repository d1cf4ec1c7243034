// expect: counters wavefronts
// Interleaved addressing: the words of the active threads lie ever further apart, in ever fewer
// banks.
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
  for (unsigned apart = 1; apart < 256; apart *= 2) {
    __syncthreads();
    const unsigned at = 2 * apart * threadIdx.x;
    if (at + apart < 256) held[at] += held[at + apart];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = held[0];
}
