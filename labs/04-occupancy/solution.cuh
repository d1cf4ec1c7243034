// Lab 04: out[i] = in[i] for i < n, with few warps.
//
// Blocks have 128 threads and 56 KiB of shared memory each, so only a few are resident on an SM,
// and nothing can be done about that. A block copies 128 * words_a_thread words; how many loads a
// thread has in flight is up to you.
#pragma once

#include <cuda_runtime.h>

// At most 32: yours to choose.
constexpr unsigned words_a_thread = 1;

static __global__ void copy(const float* in, float* out, unsigned n) {
  // TODO
  (void)in, (void)out, (void)n;
}
