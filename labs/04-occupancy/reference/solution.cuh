// Sixteen loads before the first store: each is on its way while the others are.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned words_a_thread = 16;

static __global__ void copy(const float* in, float* out, unsigned n) {
  const unsigned first = blockIdx.x * 128 * words_a_thread + threadIdx.x;
  float held[words_a_thread];
  for (unsigned k = 0; k < words_a_thread; ++k) {
    const unsigned i = first + k * 128;
    held[k] = i < n ? in[i] : 0.0f;
  }
  for (unsigned k = 0; k < words_a_thread; ++k) {
    const unsigned i = first + k * 128;
    if (i < n) out[i] = held[k];
  }
}
