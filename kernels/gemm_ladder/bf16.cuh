// What the rungs in bf16 share: d[m][n] = sum over k of a[m][k] * b[n][k], all by rows without
// gaps, operands side by side along k, as Tensor Cores want them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace gemm_ladder {

using element = __nv_bfloat16;

// Blocks take tiles in this order: eight rows of tiles, column by column, then the next eight. So
// those that run at once want few different rows of A and of B, and L2 has them.
struct TilePlace {
  unsigned row, column;
};
__host__ __device__ constexpr TilePlace place_of_tile(unsigned index, unsigned rows,
                                                      unsigned columns) {
  constexpr unsigned together = 8;
  const unsigned first = index / (together * columns) * together;
  const unsigned here = rows - first < together ? rows - first : together;
  const unsigned within = index % (together * columns);
  return {first + within % here, within / here};
}

// A row of 64 elements is 128 bytes of shared memory, and 32 banks. Its eight pieces of 16 bytes
// change places by the row's number, so that the same piece of eight rows lies in all banks. In
// bytes, from the tile's first.
inline constexpr unsigned row_bytes = 128, piece_bytes = 16;
__host__ __device__ constexpr unsigned swizzled_place(unsigned row, unsigned piece) {
  return row * row_bytes + (piece ^ row % 8) * piece_bytes;
}

__device__ inline unsigned packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

// A warp's 16 rows and some columns of D, on their way from the fragments of eight columns each
// that multiplications leave to whole rows of memory. sums[4 * j]: of the j-th eight columns.
// `staging`: of the warp's own, on 128 bytes. `to`: the first of them in D, whose rows are `n`
// apart.
inline constexpr unsigned staging_bytes = 4096;  // for 128 columns
template <unsigned columns>
__device__ inline void store_rows(element* to, std::size_t n, const float* sums,
                                  unsigned char* staging) {
  constexpr unsigned rows = 16, stored_row = columns * sizeof(element);
  constexpr unsigned pieces = stored_row / piece_bytes, lanes = 32;
  const unsigned lane = threadIdx.x % lanes, g = lane / 4, t = lane % 4;
  const auto place = [&](unsigned row, unsigned piece) {
    return staging + row * stored_row + (piece ^ row % 8) * piece_bytes;
  };
  __syncwarp();  // what was staged before has been read
#pragma unroll
  for (unsigned j = 0; j < pieces; ++j) {
    reinterpret_cast<unsigned*>(place(g, j))[t] = packed(sums[4 * j], sums[4 * j + 1]);
    reinterpret_cast<unsigned*>(place(g + 8, j))[t] = packed(sums[4 * j + 2], sums[4 * j + 3]);
  }
  __syncwarp();
  uint4 staged[rows * pieces / lanes];
#pragma unroll
  for (unsigned r = 0; r < rows * pieces / lanes; ++r) {
    const unsigned at = r * lanes + lane;
    staged[r] = *reinterpret_cast<const uint4*>(place(at / pieces, at % pieces));
  }
#pragma unroll
  for (unsigned r = 0; r < rows * pieces / lanes; ++r) {
    const unsigned at = r * lanes + lane;
    *reinterpret_cast<uint4*>(to + at / pieces * n + at % pieces * 8) = staged[r];
  }
}

}  // namespace gemm_ladder
