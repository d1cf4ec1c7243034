// throttle: arithmetic and memory traffic that keep a GPU as busy as it gets, for as long as asked.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/copy_words.cuh"
#include "warp_mma.hpp"

namespace throttle {

inline constexpr unsigned threads = 256;
inline constexpr unsigned rounds = 512;
inline constexpr unsigned tiles = 4;  // that a warp adds to, each with operands of its own
inline constexpr unsigned warp_lanes = 32;
inline constexpr double flops_a_warp = 2.0 * 16 * 8 * 16 * tiles * rounds;

// Element (row, column) of the operand of that number: sixteen values with four significant bits,
// so that every sum of a launch is exact. (Constant operands would switch fewer wires.)
__host__ __device__ inline float element(unsigned warp, unsigned number, unsigned row,
                                         unsigned column) {
  std::uint32_t z = (warp * 8 + number) * 0x9e3779b9u + row * 0x85ebca6bu + column * 0xc2b2ae35u;
  z = (z ^ (z >> 15)) * 0x2c1b3c6du;
  return (static_cast<float>((z ^ (z >> 13)) & 15u) - 7.5f) / 8;
}

__device__ inline unsigned pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return static_cast<unsigned>(__bfloat16_as_ushort(pair.x)) |
         static_cast<unsigned>(__bfloat16_as_ushort(pair.y)) << 16;
}

// A product of 16 x 16 and 16 x 8 matrices over and over, by tiles: what the inner loop of a dense
// matrix multiplication does once its operands are in registers. Each thread leaves the sum of its
// elements of all tiles. (Fragments: warp_mma.hpp.)
[[maybe_unused]] static __global__ void multiply(float* out) {
  const unsigned thread = blockIdx.x * threads + threadIdx.x;
  const unsigned warp = thread / warp_lanes, lane = thread % warp_lanes;
  const unsigned g = lane / 4, t = 2 * (lane % 4);
  const unsigned a[4] = {pack(element(warp, 0, g, t), element(warp, 0, g, t + 1)),
                         pack(element(warp, 0, g + 8, t), element(warp, 0, g + 8, t + 1)),
                         pack(element(warp, 0, g, t + 8), element(warp, 0, g, t + 9)),
                         pack(element(warp, 0, g + 8, t + 8), element(warp, 0, g + 8, t + 9))};
  unsigned b[tiles][2];
  float d[tiles][4] = {};
#pragma unroll
  for (unsigned i = 0; i < tiles; ++i) {
    b[i][0] = pack(element(warp, i + 1, t, g), element(warp, i + 1, t + 1, g));
    b[i][1] = pack(element(warp, i + 1, t + 8, g), element(warp, i + 1, t + 9, g));
  }
  for (unsigned r = 0; r < rounds; ++r) {
#pragma unroll
    for (unsigned i = 0; i < tiles; ++i) mma_m16n8k16_bf16(d[i], a, b[i], d[i]);
  }
  float sum = 0;
#pragma unroll
  for (unsigned i = 0; i < tiles; ++i) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];
  out[thread] = sum;
}

// --- what it must compute ---

struct ExpectedProducts {
  __host__ __device__ float operator()(std::size_t thread) const {
    const auto warp = static_cast<unsigned>(thread / warp_lanes);
    const auto lane = static_cast<unsigned>(thread % warp_lanes);
    const unsigned g = lane / 4, t = 2 * (lane % 4);
    float sum = 0;
    for (unsigned i = 1; i <= tiles; ++i) {
      for (unsigned k = 0; k < 16; ++k) {
        const float rows = element(warp, 0, g, k) + element(warp, 0, g + 8, k);
        sum += rows * (element(warp, i, k, t) + element(warp, i, k, t + 1));
      }
    }
    return sum * rounds;
  }
};

}  // namespace throttle
