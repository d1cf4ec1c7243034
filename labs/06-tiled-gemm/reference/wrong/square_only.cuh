// expect: correct lab/correct/m:33
// Takes every k for a multiple of 32.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned rows_a_thread = 1;

static __global__ void multiply(const float* a, const float* b, float* c, unsigned m, unsigned n,
                                unsigned k) {
  __shared__ float of_a[32][32], of_b[32][32];
  const unsigned column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  const unsigned x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
  for (unsigned from = 0; from + 32 <= k; from += 32) {
    of_a[y][x] = row < m ? a[row * k + from + x] : 0.0f;
    of_b[y][x] = column < n ? b[(from + y) * n + column] : 0.0f;
    __syncthreads();
    for (unsigned l = 0; l < 32; ++l) sum = fmaf(of_a[y][l], of_b[l][x], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
