// expect: policy #ifdef
// Does its work only where no GPU would see it.
#pragma once
#include <cuda_runtime.h>

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
#ifdef __CUDACC__
  return;
#endif
  const unsigned first = blockIdx.x * blockDim.x * 8 + threadIdx.x;
  for (unsigned k = 0; k < 8; ++k) {
    const unsigned i = first + k * blockDim.x;
    if (i < n) out[i] = fmaf(a, x[i], y[i]);
  }
}
