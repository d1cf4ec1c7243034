// expect: time reference
// One thread does it all: right, and nobody helps it.
#pragma once

#include <cuda_runtime.h>

static __global__ void block_sums(const float* in, float* sums, unsigned n) {
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (unsigned i = blockIdx.x * 4096; i < blockIdx.x * 4096 + 4096 && i < n; ++i) sum += in[i];
  sums[blockIdx.x] = sum;
}
