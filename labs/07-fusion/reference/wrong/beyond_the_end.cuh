// expect: correct out of bounds
// The last block does not stop at n.
#pragma once

#include <cuda_runtime.h>

static __global__ void fused(const float* x, const float* bias, const float* residual, float* out,
                             unsigned columns, unsigned n, unsigned seed) {
  (void)n;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = blockIdx.x * blockDim.x * 4 + k * blockDim.x + threadIdx.x;
    out[i] = residual[i] + keep(seed, i) * gelu(x[i] + bias[i % columns]);
  }
}
