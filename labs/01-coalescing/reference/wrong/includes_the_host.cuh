// expect: policy <cstdio>
// Would print results of its own.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>

static __global__ void axpy(float, const float*, const float*, float*, unsigned) {
  std::puts("{}");
}
