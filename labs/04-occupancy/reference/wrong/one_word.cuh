// expect: time reference
// One load a thread: a few warps wait, and nobody else has anything to do.
#pragma once

#include <cuda_runtime.h>

constexpr unsigned words_a_thread = 1;

static __global__ void copy(const float* in, float* out, unsigned n) {
  const unsigned i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) out[i] = in[i];
}
