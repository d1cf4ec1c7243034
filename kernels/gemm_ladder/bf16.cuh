// What the rungs in bf16 share: d[m][n] = sum over k of a[m][k] * b[n][k], all by rows without
// gaps, operands side by side along k, as Tensor Cores want them.
#pragma once

#include "kernels/common/bf16_rows.cuh"

namespace gemm_ladder {

using namespace bf16_rows;

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

}  // namespace gemm_ladder
