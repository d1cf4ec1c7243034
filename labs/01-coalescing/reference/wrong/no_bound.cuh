// expect: correct out of bounds
// Nothing stops the last block at n.
#pragma once
#include <cuda_runtime.h>

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  const unsigned first = blockIdx.x * blockDim.x * 8 + threadIdx.x;
  for (unsigned k = 0; k < 8; ++k) {
    const unsigned i = first + k * blockDim.x;
    if (first < n) out[i] = fmaf(a, x[i], y[i]);
  }
}
