// expect: correct wrote
// Says sixteen words, copies eight.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned words_a_thread = 16;

static __global__ void copy(const float* in, float* out, unsigned n) {
  const unsigned first = blockIdx.x * 128 * words_a_thread + threadIdx.x;
  float held[8];
  for (unsigned k = 0; k < 8; ++k) held[k] = first + k * 128 < n ? in[first + k * 128] : 0.0f;
  for (unsigned k = 0; k < 8; ++k) {
    if (first + k * 128 < n) out[first + k * 128] = held[k];
  }
}
