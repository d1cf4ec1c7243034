// Matrices that ldmatrix hands to the Tensor Cores, in rows of 128 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <warp_mma.hpp>

#include "kernels/bank_conflicts/banks.cuh"

namespace bank_conflicts {

inline constexpr unsigned matrix_rows = 64, pieces = 8;  // of 16 bytes: a row passes all banks once
inline constexpr unsigned matrix_loads = 256;            // of a warp

// Where piece `piece` of a row lies, in pieces.
template <unsigned length>
struct RowsOf {
  static constexpr unsigned pitch = length;
  __host__ __device__ static constexpr unsigned at(unsigned row, unsigned piece) {
    return row * pitch + piece;
  }
};
using PlainRows = RowsOf<pieces>;
using PaddedRows = RowsOf<pieces + 1>;
struct SwizzledRows {  // the 128-byte swizzle of TMA and wgmma
  static constexpr unsigned pitch = pieces;
  __host__ __device__ static constexpr unsigned at(unsigned row, unsigned piece) {
    return row * pitch + (piece ^ row % pieces);
  }
};

// ldmatrix of four 8 x 8 matrices of 16-bit elements, one below the other: lane i names row i.
template <class Rows>
__global__ void read_matrices(const uint4* in, unsigned* sums) {
  __shared__ uint4 tile[matrix_rows * Rows::pitch];
  for (unsigned i = threadIdx.x; i < matrix_rows * pieces; i += threads) {
    tile[Rows::at(i / pieces, i % pieces)] = in[i];
  }
  __syncthreads();
  unsigned sum = 0;
  // Not unrolled: the compiler would load what two rounds have in common once for all.
#pragma unroll 1
  for (unsigned round = 0; round < matrix_loads / pieces; ++round) {
    const unsigned row = round % 2 * warp + threadIdx.x % warp;
#pragma unroll
    for (unsigned piece = 0; piece < pieces; ++piece) {
      unsigned got[4];
      ldmatrix(got, &tile[Rows::at(row, piece)]);
#pragma unroll
      for (unsigned m = 0; m < 4; ++m) sum += got[m] * (32 * round + 4 * piece + m + 1);
    }
  }
  sums[blockIdx.x * std::size_t{threads} + threadIdx.x] = sum;
}

// --- what it must compute, and what theory says it costs ---

template <class Source>
struct ExpectedMatrices {
  Source in;  // of words
  __host__ __device__ unsigned operator()(std::size_t i) const {
    const unsigned lane = static_cast<unsigned>(i % warp);
    unsigned sum = 0;
    for (unsigned round = 0; round < matrix_loads / pieces; ++round) {
      for (unsigned piece = 0; piece < pieces; ++piece) {
        for (unsigned m = 0; m < 4; ++m) {  // a lane gets a word of row lane / 4 of each
          const unsigned row = round % 2 * warp + 8 * m + lane / 4;
          sum += in((row * pieces + piece) * 4 + lane % 4) * (32 * round + 4 * piece + m + 1);
        }
      }
    }
    return sum;
  }
};

// Wavefronts of an ldmatrix: each of its four matrices has eight rows of 16 bytes, as a
// quarter-warp's read.
template <class Rows>
constexpr unsigned matrix_wavefronts() {
  unsigned worst = 1;
  for (unsigned row = 0; row < 8; ++row) {
    unsigned same = 0;  // rows of the matrix in the same four banks
    for (unsigned other = 0; other < 8; ++other) {
      same += Rows::at(row, 0) % pieces == Rows::at(other, 0) % pieces;
    }
    worst = same > worst ? same : worst;
  }
  return 4 * worst;
}

}  // namespace bank_conflicts
