// How the rungs above mma.sync get their tiles: one thread asks the copy engine (TMA) for them,
// stage by stage, and is told by whoever multiplies when a stage is free again.
#pragma once

#include <bulk_copy.hpp>

#include "kernels/gemm_ladder/bf16.cuh"
#include "kernels/gemm_ladder/fp32.cuh"

namespace gemm_ladder {

// A tile of D and the k of a step, which is a stage: rows of A, and of B behind them.
namespace tma_stages {
inline constexpr unsigned block_m = 128, block_n = 256, block_k = 64;
inline constexpr unsigned stages = 4;
inline constexpr unsigned a_bytes = block_m * row_bytes, b_bytes = block_n * row_bytes,
                          stage_bytes = a_bytes + b_bytes;

struct Stages {
  unsigned char* tiles;
  Mbarrier *brought, *done_with;  // one of each per stage
};

struct TileGrid {
  unsigned rows, columns, steps;  // tiles of the result; and along k
};

// One thread asks for the tiles of every step, as soon as all are done with what was there.
// `turn`: of the stages, over all tiles: stage turn % stages, for the so many-th time.
__device__ __forceinline__ void bring_tiles(const Stages& at, const CUtensorMap* of_a,
                                            const CUtensorMap* of_b, TileGrid grid) {
  unsigned turn = 0;
  for (unsigned i = blockIdx.x; i < grid.rows * grid.columns; i += gridDim.x) {
    const auto [row, column] = place_of_tile(i, grid.rows, grid.columns);
    for (unsigned step = 0; step < grid.steps; ++step, ++turn) {
      const unsigned stage = turn % stages;
      unsigned char* const to = at.tiles + stage * stage_bytes;
      mbarrier_wait(&at.done_with[stage], turn / stages % 2 ^ 1);  // the first time at once
      mbarrier_expect(&at.brought[stage], stage_bytes);
      bulk_copy_box(to, of_a, step * block_k, row * block_m, &at.brought[stage]);
      bulk_copy_box(to + a_bytes, of_b, step * block_k, column * block_n, &at.brought[stage]);
    }
  }
}
}  // namespace tma_stages

}  // namespace gemm_ladder
