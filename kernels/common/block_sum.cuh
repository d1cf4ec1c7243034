// What a reading kernel leaves behind, so that its reads are not optimised away: a sum a block.
#pragma once

#include <cuda_runtime.h>

// The sum of `value` over the block's `threads` threads (a multiple of 32), in a fixed order, is
// written to sums[blockIdx.x]. Every thread of the block must call it.
template <unsigned threads, class S>
__device__ void write_block_sum(S value, S* sums) {
  __shared__ S partial[threads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    S sum = 0;
    for (unsigned i = 0; i < threads / 32; ++i) sum += partial[i];
    sums[blockIdx.x] = sum;
  }
}
