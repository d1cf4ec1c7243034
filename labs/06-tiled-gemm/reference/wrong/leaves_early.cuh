// expect: correct uninitialised
// Threads without an element leave before the barrier.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned rows_a_thread = 1;

static __global__ void multiply(const float* a, const float* b, float* c, unsigned m, unsigned n,
                                unsigned k) {
  __shared__ float of_a[32][32], of_b[32][32];
  const unsigned column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  const unsigned x = threadIdx.x, y = threadIdx.y;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (unsigned from = 0; from < k; from += 32) {
    of_a[y][x] = from + x < k ? a[row * k + from + x] : 0.0f;
    of_b[y][x] = from + y < k ? b[(from + y) * n + column] : 0.0f;
    __syncthreads();
    for (unsigned l = 0; l < 32; ++l) sum = fmaf(of_a[y][l], of_b[l][x], sum);
    __syncthreads();
  }
  c[row * n + column] = sum;
}
