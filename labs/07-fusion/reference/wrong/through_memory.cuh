// expect: counters words of global memory
// One kernel, and every step goes through memory all the same.
#pragma once

#include <cuda_runtime.h>

static __global__ void fused(const float* x, const float* bias, const float* residual, float* out,
                             unsigned columns, unsigned n, unsigned seed) {
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = blockIdx.x * blockDim.x * 4 + k * blockDim.x + threadIdx.x;
    volatile float* held = out;
    if (i >= n) return;
    held[i] = x[i] + bias[i % columns];
    held[i] = gelu(held[i]);
    held[i] = held[i] * keep(seed, i);
    held[i] = held[i] + residual[i];
  }
}
