// Lab 03: the same work, with all lanes of a warp at it.
//
// given.cuh has work(kind, x), which takes as long for one kind as for another, and needs_work(x).
// Blocks have 256 threads and 1024 elements: element 1024 * blockIdx.x and those behind it, as far
// as they exist (below n). Which thread does which of them, and when, is yours to choose.
#pragma once

#include <cuda_runtime.h>

// out[i] = work(i % 4, in[i])
static __global__ void mixed(const float* in, float* out, unsigned n) {
  // TODO: let the 32 lanes of a warp have one kind at a time.
  (void)in, (void)out, (void)n;
}

// out[i] = needs_work(in[i]) ? work(0, in[i]) : in[i]; any number of elements may need work.
static __global__ void sparse(const float* in, float* out, unsigned n) {
  // TODO: nobody knows beforehand which ones. Find them first; then share them out.
  (void)in, (void)out, (void)n;
}
