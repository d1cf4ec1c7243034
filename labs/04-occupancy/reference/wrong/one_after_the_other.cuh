// expect: time reference
// Sixteen words a thread, but each is stored before the next one is asked for.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned words_a_thread = 16;

static __global__ void copy(const float* in, float* out, unsigned n) {
  const unsigned first = blockIdx.x * 128 * words_a_thread + threadIdx.x;
  for (unsigned k = 0; k < words_a_thread; ++k) {
    const unsigned i = first + k * 128;
    if (i < n) out[i] = in[i];
  }
}
