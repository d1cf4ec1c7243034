// What a reading kernel leaves behind, so that its reads are not optimised away: a sum a block.
#pragma once

#include <cuda_runtime.h>

// The sum of `value` over the block's `threads` threads (a multiple of 32), in a fixed order, of
// which thread 0 learns; the others get a part of it. Every thread of the block must call it, and
// not twice without a barrier between. `partial`: shared memory for each warp's.
template <unsigned threads, class S>
__device__ S block_sum_in(S* partial, S value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    value = 0;
    for (unsigned i = 0; i < threads / 32; ++i) value += partial[i];
  }
  return value;
}

// The same in memory of its own.
template <unsigned threads, class S>
__device__ S block_sum(S value) {
  __shared__ S partial[threads / 32];
  return block_sum_in<threads>(partial, value);
}

// The same, written to sums[blockIdx.x].
template <unsigned threads, class S>
__device__ void write_block_sum(S value, S* sums) {
  const S sum = block_sum<threads>(value);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
