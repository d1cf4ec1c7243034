// expect: time reference
// One thread a row.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

static __global__ void softmax(const float* in, float* out, unsigned columns, float scale) {
  if (threadIdx.x > 0) return;
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  float largest = -INFINITY, sum = 0;
  for (unsigned c = 0; c < columns; ++c) {
    const float v = scale * in[row + c], more = fmaxf(largest, v);
    sum = sum * expf(largest - more) + expf(v - more);
    largest = more;
  }
  for (unsigned c = 0; c < columns; ++c) {
    out[row + c] = expf(scale * in[row + c] - largest) / sum;
  }
}
