// A warp adds up by shuffles, without shared memory; then one warp adds up the eight warps' sums.
#pragma once

#include <cuda_runtime.h>

static __device__ float warp_sum(float value) {
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

static __global__ void block_sums(const float* in, float* sums, unsigned n) {
  const unsigned first = blockIdx.x * 4096 + threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < 16; ++k) {
    const unsigned i = first + k * 256;
    if (i < n) sum += in[i];
  }
  __shared__ float of_warp[8];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < 8 ? of_warp[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  }
}
