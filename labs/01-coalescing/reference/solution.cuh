// Neighbouring threads take neighbouring elements: a warp's 32 words are 128 bytes in a row.
#pragma once

#include <cuda_runtime.h>

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  const unsigned first = blockIdx.x * blockDim.x * 8 + threadIdx.x;
  for (unsigned k = 0; k < 8; ++k) {
    const unsigned i = first + k * blockDim.x;
    if (i < n) out[i] = fmaf(a, x[i], y[i]);
  }
}
