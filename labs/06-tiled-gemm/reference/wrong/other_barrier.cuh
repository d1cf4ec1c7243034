// expect: correct race
// Nobody waits for the tiles to be there.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned rows_a_thread = 4;

static __global__ void multiply(const float* a, const float* b, float* c, unsigned m, unsigned n,
                                unsigned k) {
  __shared__ float of_a[32][32], of_b[32][32];
  const unsigned x = threadIdx.x, column = blockIdx.x * 32 + x;
  const unsigned first_row = blockIdx.y * 32 + threadIdx.y;
  constexpr unsigned step = 32 / rows_a_thread;
  float sum[rows_a_thread] = {};
  for (unsigned from = 0; from < k; from += 32) {
    for (unsigned y = threadIdx.y; y < 32; y += step) {
      const unsigned row = blockIdx.y * 32 + y;
      of_a[y][x] = row < m && from + x < k ? a[row * k + from + x] : 0.0f;
      of_b[y][x] = from + y < k && column < n ? b[(from + y) * n + column] : 0.0f;
    }

    for (unsigned l = 0; l < 32; ++l) {
      const float right = of_b[l][x];
      for (unsigned r = 0; r < rows_a_thread; ++r) {
        sum[r] = fmaf(of_a[threadIdx.y + r * step][l], right, sum[r]);
      }
    }
    __syncthreads();
  }
  for (unsigned r = 0; r < rows_a_thread; ++r) {
    const unsigned row = first_row + r * step;
    if (row < m && column < n) c[row * n + column] = sum[r];
  }
}
