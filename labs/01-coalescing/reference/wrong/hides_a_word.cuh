// expect: policy #define
// Assembly by another name.
#pragma once
#include <cuda_runtime.h>

#define HIDDEN asm

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  HIDDEN volatile("nop");
  if (threadIdx.x < n) out[threadIdx.x] = fmaf(a, x[threadIdx.x], y[threadIdx.x]);
}
