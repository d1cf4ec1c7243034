// Lab 02: transpose a matrix through shared memory, twice: with a padded tile, and with a swizzled
// one. `in` has `rows` rows of `columns` elements, `out` has `columns` rows of `rows`.
//
// A block of 32 x 8 threads turns one tile of 32 x 32 elements; blockIdx.x counts tiles along
// `columns`. Its shared memory is the array `tile` below: 32 rows of 33 words for the padded
// kernel, 32 rows of 32 words, and not one more, for the swizzled kernel.
#pragma once

#include <cuda_runtime.h>

#include "dynamic_shared.hpp"

static __global__ void transpose_padded(const float* in, float* out, unsigned rows,
                                        unsigned columns) {
  auto* tile = static_cast<float*>(dynamic_shared());
  // TODO: tile's word of row y and column x is tile[y * 33 + x].
  (void)tile, (void)in, (void)out, (void)rows, (void)columns;
}

static __global__ void transpose_swizzled(const float* in, float* out, unsigned rows,
                                          unsigned columns) {
  auto* tile = static_cast<float*>(dynamic_shared());
  // TODO: 32 words per row. Where in its row do you put the word of column x?
  (void)tile, (void)in, (void)out, (void)rows, (void)columns;
}
