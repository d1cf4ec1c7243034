// expect: counters sectors
// Many in flight, and each lane's lie in a row.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned words_a_thread = 16;

static __global__ void copy(const float* in, float* out, unsigned n) {
  const unsigned first = (blockIdx.x * 128 + threadIdx.x) * words_a_thread;
  float held[words_a_thread];
  for (unsigned k = 0; k < words_a_thread; ++k) {
    held[k] = first + k < n ? in[first + k] : 0.0f;
  }
  for (unsigned k = 0; k < words_a_thread; ++k) {
    if (first + k < n) out[first + k] = held[k];
  }
}
