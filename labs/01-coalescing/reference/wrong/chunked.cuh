// expect: counters 32 sectors
// Right, and each thread walks through eight words of its own: 32 sectors a request.
#pragma once
#include <cuda_runtime.h>

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  for (unsigned i = first; i < first + 8 && i < n; ++i) {
    out[i] = fmaf(a, x[i], y[i]);
  }
}
