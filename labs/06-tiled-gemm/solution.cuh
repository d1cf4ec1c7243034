// Lab 06: c = a times b, where a is m x k, b is k x n, and all lie row after row.
//
// A block computes a tile of 32 x 32 elements of c: blockIdx.x counts tiles along n, blockIdx.y
// along m. It has 32 x (32 / rows_a_thread) threads, so a thread computes `rows_a_thread` elements.
// Write multiply-adds as fmaf(a, b, c).
#pragma once

#include <cuda_runtime.h>

// 1, 2, 4 or 8: yours to choose.
constexpr unsigned rows_a_thread = 1;

static __global__ void multiply(const float* a, const float* b, float* c, unsigned m, unsigned n,
                                unsigned k) {
  // TODO: walk along k in steps of a tile; each tile of a and b is read once a block.
  (void)a, (void)b, (void)c, (void)m, (void)n, (void)k;
}
