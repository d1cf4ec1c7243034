// What a thread that keeps a tile of D in registers does for each k: a column of A times a row of
// B. (The model's answer to the same name, one call for all of it:
// harness/platform/model/include/outer_product.hpp.)
#pragma once

#include <cuda_runtime.h>

// sums[i][j] += a[i] * b[j], a multiply-add each.
template <unsigned rows, unsigned columns>
__device__ inline void add_outer_product(float (&sums)[rows][columns], const float (&a)[rows],
                                         const float (&b)[columns]) {
#pragma unroll
  for (unsigned i = 0; i < rows; ++i) {
#pragma unroll
    for (unsigned j = 0; j < columns; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
  }
}
