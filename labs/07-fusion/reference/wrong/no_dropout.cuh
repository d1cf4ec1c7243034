// expect: correct expected
// Keeps everything.
#pragma once

#include <cuda_runtime.h>

static __global__ void fused(const float* x, const float* bias, const float* residual, float* out,
                             unsigned columns, unsigned n, unsigned seed) {
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = blockIdx.x * blockDim.x * 4 + k * blockDim.x + threadIdx.x;
    (void)seed;
    if (i < n) out[i] = residual[i] + gelu(x[i] + bias[i % columns]);
  }
}
