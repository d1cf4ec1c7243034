// Mixed: in pass k every thread has an element of kind k. Sparse: what needs work goes into a list,
// and the list is shared out.
#pragma once

#include <cuda_runtime.h>

static __global__ void mixed(const float* in, float* out, unsigned n) {
  const unsigned first = blockIdx.x * 1024 + threadIdx.x * 4;
  for (unsigned kind = 0; kind < 4; ++kind) {
    const unsigned i = first + kind;
    if (i < n) out[i] = work(kind, in[i]);
  }
}

static __global__ void sparse(const float* in, float* out, unsigned n) {
  __shared__ unsigned busy[1024], count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = blockIdx.x * 1024 + k * 256 + threadIdx.x;
    if (i >= n) continue;
    const float x = in[i];
    if (needs_work(x))
      busy[atomicAdd(&count, 1u)] = i;
    else
      out[i] = x;
  }
  __syncthreads();
  for (unsigned j = threadIdx.x; j < count; j += 256) out[busy[j]] = work(0, in[busy[j]]);
}
