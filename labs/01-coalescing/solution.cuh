// Lab 01: out[i] = a * x[i] + y[i] for all i < n.
//
// The grid is given: blocks of 256 threads, and 2048 elements for each block, so a thread computes
// eight elements. *Which* eight is yours to choose, and all that matters here.
//
// Write multiply-adds as fmaf(a, b, c), so that they are counted as one instruction.
#pragma once

#include <cuda_runtime.h>

static __global__ void axpy(float a, const float* x, const float* y, float* out, unsigned n) {
  // TODO: compute the elements of this thread, and only those that exist (i < n).
  (void)a, (void)x, (void)y, (void)out, (void)n;
}
