// expect: counters words of global memory
// Right, and every product fetches its factors from global memory.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned rows_a_thread = 1;

static __global__ void multiply(const float* a, const float* b, float* c, unsigned m, unsigned n,
                                unsigned k) {
  const unsigned column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (unsigned l = 0; l < k; ++l) sum = fmaf(a[row * k + l], b[l * n + column], sum);
  c[row * n + column] = sum;
}
