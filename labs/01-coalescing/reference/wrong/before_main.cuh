// expect: policy before the checker
// A global that is computed: its code would run before main().
#pragma once
#include <cuda_runtime.h>

#include <cmath>

static volatile float one = 1;
static float computed = std::sqrt(one);

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  if (threadIdx.x < n) out[threadIdx.x] = fmaf(a, x[threadIdx.x], y[threadIdx.x]) + computed;
}
