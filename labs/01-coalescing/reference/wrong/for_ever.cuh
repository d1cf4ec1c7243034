// expect: correct did not end
// A loop whose end never comes.
#pragma once
#include <cuda_runtime.h>

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x * 8 + threadIdx.x; i < n; i += 0 * blockDim.x) {
    out[i] = fmaf(a, x[i], y[i]);
  }
}
