// Rows of bf16 in shared memory as Tensor Cores want them, and on their way out of registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <bulk_copy.hpp>
#include <cstddef>
#include <cstdint>

#include "matrix_descriptor.hpp"
#include "tcgen05_descriptor.hpp"

namespace bf16_rows {

using element = __nv_bfloat16;

// A row of 64 elements is 128 bytes of shared memory, and 32 banks. Its eight pieces of 16 bytes
// change places by the row's number, so that the same piece of eight rows lies in all banks. In
// bytes, from the tile's first.
inline constexpr unsigned row_bytes = 128, piece_bytes = 16;
__host__ __device__ constexpr unsigned swizzled_place(unsigned row, unsigned piece) {
  return row * row_bytes + (piece ^ row % 8) * piece_bytes;
}

// A swizzle's pattern begins at multiples of eight rows.
inline constexpr unsigned pattern_bytes = 8 * row_bytes;
__device__ inline unsigned char* aligned(unsigned char* shared) {
  return shared + (pattern_bytes - place_in_shared(shared) % pattern_bytes) % pattern_bytes;
}

// For wgmma, the rows from `place` on, which lie along k; sixteen elements on are two more.
__device__ inline std::uint64_t rows_at(const unsigned char* place) {
  return gpubench::matrix_descriptor(place_in_shared(place), 0, pattern_bytes,
                                     gpubench::Swizzle::of_128_bytes);
}
// The same for rows that lie across k; their next 64 elements are `apart` bytes on.
__device__ inline std::uint64_t transposed_rows_at(const unsigned char* place, unsigned apart) {
  return gpubench::matrix_descriptor(place_in_shared(place), apart, pattern_bytes,
                                     gpubench::Swizzle::of_128_bytes);
}

// For tcgen05, either; rows along k have no use for `apart`.
__device__ inline std::uint64_t matrix_at(const unsigned char* place, unsigned apart = 0) {
  return gpubench::tcgen05_matrix(place_in_shared(place), apart, pattern_bytes,
                                  gpubench::Swizzle::of_128_bytes);
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

// What a warp stores at a time of rows that its lanes hold, one each.
inline constexpr unsigned loaded_columns = 32, stored_columns = 64;
inline constexpr unsigned chunk_bytes = 32 * stored_columns * sizeof(element);
// A lane's 64 elements of one row, to whole lines of memory. `to`: the first of the warp's 32 rows,
// which are `n` apart. `staging`: of the warp's own, on 1024 bytes.
__device__ __forceinline__ void store_chunk(element* to, std::size_t n,
                                            const float (&low)[loaded_columns],
                                            const float (&high)[loaded_columns],
                                            unsigned char* staging) {
  constexpr unsigned pieces = row_bytes / piece_bytes;
  constexpr unsigned lanes = 32;
  const unsigned lane = threadIdx.x % lanes;
  const auto packed_piece = [](const float* x) {
    return make_uint4(packed(x[0], x[1]), packed(x[2], x[3]), packed(x[4], x[5]),
                      packed(x[6], x[7]));
  };
  __syncwarp();  // what was staged before has been read
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    const float* const from = p < pieces / 2 ? &low[8 * p] : &high[8 * (p - pieces / 2)];
    *reinterpret_cast<uint4*>(staging + swizzled_place(lane, p)) = packed_piece(from);
  }
  __syncwarp();
  uint4 staged[pieces];
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    const unsigned row = p * (lanes / pieces) + lane / pieces;
    staged[p] = *reinterpret_cast<const uint4*>(staging + swizzled_place(row, lane % pieces));
  }
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    const unsigned row = p * (lanes / pieces) + lane / pieces;
    *reinterpret_cast<uint4*>(to + row * n + lane % pieces * 8) = staged[p];
  }
}

}  // namespace bf16_rows
