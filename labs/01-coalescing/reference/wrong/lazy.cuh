// expect: correct element
// One element a thread, and the other seven are left out.
#pragma once
#include <cuda_runtime.h>

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x * 8 + threadIdx.x;
  if (i < n) out[i] = fmaf(a, x[i], y[i]);
}
