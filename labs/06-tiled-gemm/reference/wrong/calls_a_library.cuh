// expect: policy calls cblas_sgemm
// Has somebody else do it.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned rows_a_thread = 1;

extern "C" void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*,
                            int, float, float*, int);

static __global__ void multiply(const float* a, const float* b, float* c, unsigned m, unsigned n,
                                unsigned k) {
  if (threadIdx.x + threadIdx.y + blockIdx.x + blockIdx.y > 0) return;
  cblas_sgemm(101, 111, 111, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), 1, a,
              static_cast<int>(k), b, static_cast<int>(n), 0, c, static_cast<int>(n));
}
