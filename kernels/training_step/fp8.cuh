// Tensors in fp8 (e4m3) for products: one scale for each, by which its largest element becomes the
// largest that fp8 holds.
//
// Tensor Cores before Blackwell multiply fp8 only where both operands lie along k (cuBLAS
// documentation, cublasLtMatmul), so a tensor that a backward pass multiplies along its other
// dimension is also needed transposed: one kernel writes both.
#pragma once

#include <cuda_fp8.h>

#include "kernels/normalization.cuh"
#include "kernels/training_step/numbers.cuh"

namespace training_step {

using fp8 = __nv_fp8_e4m3;

inline constexpr float largest_fp8 = 448;
inline constexpr unsigned most_maxima = threads;  // blocks that look for the largest element
inline constexpr unsigned fp8_tile = 64;          // rows and columns of a block of to_fp8

// The largest magnitude that each block meets.
template <class T>
__global__ void find_largest(const T* in, std::size_t packs, float* maxima) {
  float largest = 0;
#pragma unroll 4
  for (std::size_t p = blockIdx.x * threads + threadIdx.x; p < packs; p += gridDim.x * threads) {
    float x[Pack<T>::size];
    load_pack(in, p).unpack(x);
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) largest = fmaxf(largest, fabsf(x[k]));
  }
  largest = normalization::of_row(largest, normalization::Larger{});
  if (threadIdx.x == 0) maxima[blockIdx.x] = largest;
}

// A tile of `in`, [rows][columns], by rows and by columns; both are multiples of 8. `scale` is what
// elements in fp8 are to be multiplied by. (Shared memory holds a tile by rows, with gaps by which
// its columns lie in different banks.)
template <class T>
__global__ void to_fp8(const T* in, unsigned rows, unsigned columns, const float* maxima,
                       unsigned count, fp8* out, fp8* transposed, float* scale) {
  static_assert(Pack<T>::size == 8, "a pack of 16 bytes is one of 8 in fp8");
  constexpr unsigned across = fp8_tile / 8, pitch = fp8_tile / 4 + 1;  // [packs], [words]
  __shared__ unsigned tile[fp8_tile * pitch];
  const float mine = threadIdx.x < count ? maxima[threadIdx.x] : 0;
  const float largest = normalization::of_row(mine, normalization::Larger{});
  const float unscale = largest > 0 ? largest / largest_fp8 : 1;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *scale = unscale;
  const unsigned first_row = blockIdx.y * fp8_tile, first_column = blockIdx.x * fp8_tile;
#pragma unroll
  for (unsigned i = threadIdx.x; i < fp8_tile * across; i += threads) {
    const unsigned row = i / across, column = i % across * 8;
    if (first_row + row >= rows || first_column + column >= columns) continue;
    const std::size_t at = std::size_t{first_row + row} * columns + first_column + column;
    float x[8];
    load_pack(in, at / 8).unpack(x);
    unsigned words[2] = {};
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      words[k / 4] |= unsigned{fp8(x[k] * (1 / unscale)).__x} << k % 4 * 8;
    }
    reinterpret_cast<uint2*>(out)[at / 8] = {words[0], words[1]};
    tile[row * pitch + column / 4] = words[0];
    tile[row * pitch + column / 4 + 1] = words[1];
  }
  __syncthreads();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(tile);
#pragma unroll
  for (unsigned i = threadIdx.x; i < fp8_tile * across; i += threads) {
    // Four neighbours write a sector.
    const unsigned column = i / 4 % fp8_tile, row = (i / 4 / fp8_tile * 4 + i % 4) * 8;
    if (first_row + row >= rows || first_column + column >= columns) continue;
    unsigned words[2] = {};
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      words[k / 4] |= unsigned{bytes[(row + k) * pitch * 4 + column]} << k % 4 * 8;
    }
    const std::size_t at = std::size_t{first_column + column} * rows + first_row + row;
    reinterpret_cast<uint2*>(transposed)[at / 8] = {words[0], words[1]};
  }
}

}  // namespace training_step
