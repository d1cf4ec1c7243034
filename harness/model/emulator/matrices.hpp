// What the Tensor Cores compute: products of small matrices, of which each lane holds a part.
#pragma once

#include <array>

#include "harness/model/emulator/warp_requests.hpp"
#include "harness/model/include/warp_matrix.h"

namespace gpubench::model {

// sums[i * columns + j] += a[i] * b[j] by one lane, each rounded once.
void multiply_add_outer(float* sums, const float* a, unsigned rows, const float* b,
                        unsigned columns);

using WarpElements = std::array<const MatrixElements*, warp_lanes>;

// How long the rows of a and the columns of b are.
unsigned depth_of(Tensor type);

// d = a * b + c by one warp: 16 rows, 8 columns (mma.sync); as many of those as lanes have
// products.
void multiply_fragments(Tensor type, const WarpElements& lanes);

// d += a * b by one of a warpgroup's four warps (wgmma): a has 64 rows, of which `warp`'s are the
// sixteen from 16 * warp on, b has `warpgroup_columns` columns.
void multiply_tiles(Tensor type, const WarpElements& lanes, unsigned warp);

}  // namespace gpubench::model
