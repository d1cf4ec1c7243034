// expect: correct race
// Every warp of a block also writes its neighbour's first element, with the right value.
#pragma once
#include <cuda_runtime.h>

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  const unsigned first = blockIdx.x * blockDim.x * 8 + threadIdx.x;
  for (unsigned k = 0; k < 8; ++k) {
    const unsigned i = first + k * blockDim.x;
    if (i < n) out[i] = fmaf(a, x[i], y[i]);
    if (i + 1 < n && threadIdx.x + 1 < blockDim.x) out[i + 1] = fmaf(a, x[i + 1], y[i + 1]);
  }
}
