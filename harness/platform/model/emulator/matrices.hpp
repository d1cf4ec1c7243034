// What the Tensor Cores compute: products of small matrices, of which each lane holds a part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/platform/model/emulator/warp_requests.hpp"
#include "harness/platform/model/include/warp_matrix.h"

namespace gpubench::model {

// sums[i * columns + j] += a[i] * b[j] by one lane, each rounded once.
void multiply_add_outer(float* sums, const float* a, unsigned rows, const float* b,
                        unsigned columns);

using WarpElements = std::array<const MatrixElements*, warp_lanes>;

// How long the rows of a and the columns of b are.
unsigned depth_of(Tensor type);

// How many elements along k have one scale; 0: there are none.
constexpr unsigned scaled_together(Tensor type) {
  return type == Tensor::mxfp8 ? 32 : type == Tensor::nvfp4 ? 16 : 0;
}
double scale_value(Tensor type, std::uint32_t byte);

// d = a * b + c by one warp: 16 rows, 8 columns (mma.sync); as many of those as lanes have
// products.
void multiply_fragments(Tensor type, const WarpElements& lanes);

// d += a * b by one of a warpgroup's four warps (wgmma): a has 64 rows, of which `warp`'s are the
// sixteen from 16 * warp on, b has `warpgroup_columns` columns.
void multiply_tiles(Tensor type, const WarpElements& lanes, unsigned warp);

// Operands as the addresses of their 16-byte pieces: of each row of a and each column of b two, or
// of each k of b, if it is transposed, as many as hold its columns.
struct Pieces {
  std::span<const std::byte*const> a, b;
  unsigned columns;
  bool b_is_transposed;
  // For mxfp8 and nvfp4, the scales of a row's blocks along k, row by row, and of b's columns.
  std::span<const double> scales_a{}, scales_b{};
};

// d = a * b or d += a * b by one of a warpgroup's four warps, whose sixteen rows of a are given.
void multiply_pieces(Tensor type, const Pieces& of, const std::array<float*, warp_lanes>& d,
                     bool adds);

// The same for all of `rows` rows of d, `apart` words from one to the next (tcgen05.mma).
void multiply_rows(Tensor type, const Pieces& of, unsigned rows, std::uint32_t* d,
                   std::size_t apart, bool adds);

// What 32 lanes hold of sixteen rows of sixteen 16-bit elements, in four registers each.
using HeldRows = std::array<std::array<std::uint16_t, 16>, 16>;
HeldRows held_rows(const std::array<const unsigned*, warp_lanes>& registers);

}  // namespace gpubench::model
