// expect: correct out of bounds
// Guards the stores, and not the loads.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned words_a_thread = 8;

static __global__ void copy(const float* in, float* out, unsigned n) {
  const unsigned first = blockIdx.x * 128 * words_a_thread + threadIdx.x;
  float held[words_a_thread];
  for (unsigned k = 0; k < words_a_thread; ++k) held[k] = in[first + k * 128];
  for (unsigned k = 0; k < words_a_thread; ++k) {
    if (first + k * 128 < n) out[first + k * 128] = held[k];
  }
}
