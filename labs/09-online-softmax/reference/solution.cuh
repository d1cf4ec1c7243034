// Whenever a larger value comes, what has been summed up is scaled down: one pass finds both.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

// The largest value so far, and the sum of exp(v - largest).
struct State {
  float largest, sum;
};

static __device__ State both(State a, State b) {
  const float largest = fmaxf(a.largest, b.largest);
  if (largest == -INFINITY) return {largest, 0};
  return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

static __device__ State of_warp(State s) {
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    s = both(s, {__shfl_xor_sync(0xffffffffu, s.largest, offset),
                 __shfl_xor_sync(0xffffffffu, s.sum, offset)});
  }
  return s;
}

static __global__ void softmax(const float* in, float* out, unsigned columns, float scale) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * columns;
  State s{-INFINITY, 0};
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    s = both(s, {scale * in[row + c], 1});
  }
  __shared__ float largest_of[8], sum_of[8];
  s = of_warp(s);
  if (threadIdx.x % 32 == 0) {
    largest_of[threadIdx.x / 32] = s.largest;
    sum_of[threadIdx.x / 32] = s.sum;
  }
  __syncthreads();
  s = of_warp({largest_of[threadIdx.x % 8], sum_of[threadIdx.x % 8]});
  s.sum /= 4;  // each of the eight warps was counted by four lanes
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    out[row + c] = expf(scale * in[row + c] - s.largest) / s.sum;
  }
}
