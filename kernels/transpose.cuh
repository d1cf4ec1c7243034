// transpose: what turning a matrix costs. bank_conflicts.cuh has the kernel with a tile.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/common/transposed.cuh"

namespace transpose {

inline constexpr unsigned threads = 256;
inline constexpr unsigned words_a_thread = 8;
inline constexpr std::size_t words_a_block = threads * words_a_thread;

// out[x][y] = in[y][x], of `rows` rows and `columns` columns. One side is always scattered: a warp
// either reads a column of `in` and writes a row of `out`, or reads a row and writes a column.
// blockIdx.y is the number of that line, blockIdx.x the part of it.
template <class Word, bool reads_column>
__global__ void untiled(const Word* in, Word* out, unsigned rows, unsigned columns) {
  const unsigned line = blockIdx.y, length = reads_column ? rows : columns;
  const std::size_t first = blockIdx.x * words_a_block + threadIdx.x;
  Word got[words_a_thread];
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) {
    const std::size_t i = first + k * threads;
    if (i >= length) break;
    got[k] = in[reads_column ? i * columns + line : line * std::size_t{columns} + i];
  }
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) {
    const std::size_t i = first + k * threads;
    if (i >= length) break;
    out[reads_column ? line * std::size_t{rows} + i : i * rows + line] = got[k];
  }
}

// The grid of untiled: a block for each part of a line.
constexpr dim3 untiled_grid(bool reads_column, unsigned rows, unsigned columns) {
  const unsigned line = reads_column ? rows : columns;
  return {static_cast<unsigned>((line + words_a_block - 1) / words_a_block),
          reads_column ? columns : rows};
}

// Useful bytes per byte that L2 could move while words of `size` bytes are transposed: each takes
// the time of `alone` bytes on the scattered side, and moves with its neighbours on the other.
constexpr double useful_share_of_l2(double size, double alone) { return 2 * size / (alone + size); }
// And per byte that L1 could move, 128 in a wavefront: a scattered read takes 32 of them, the write
// beside it one.
constexpr double useful_share_of_l1(double size) { return 2 * 32 * size / (33 * 128); }

}  // namespace transpose
