// expect: counters sectors
// Four neighbouring words a thread, one after the other.
#pragma once

#include <cuda_runtime.h>

static __global__ void fused(const float* x, const float* bias, const float* residual, float* out,
                             unsigned columns, unsigned n, unsigned seed) {
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  for (unsigned i = first; i < first + 4 && i < n; ++i) {
    out[i] = residual[i] + keep(seed, i) * gelu(x[i] + bias[i % columns]);
  }
}
