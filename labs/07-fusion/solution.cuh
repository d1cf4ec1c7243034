// Lab 07: out[i] = residual[i] + keep(seed, i) * gelu(x[i] + bias[i % columns]) for all i < n.
//
// Four kernels would write and read three intermediate arrays. Yours is one. keep() and gelu() are
// given (given.cuh). Blocks have 256 threads and 1024 elements; n is a multiple of columns, and
// columns of 4, so whoever likes takes four neighbouring words as one float4.
#pragma once

#include <cuda_runtime.h>

static __global__ void fused(const float* x, const float* bias, const float* residual, float* out,
                             unsigned columns, unsigned n, unsigned seed) {
  // TODO
  (void)x, (void)bias, (void)residual, (void)out, (void)columns, (void)n, (void)seed;
}
