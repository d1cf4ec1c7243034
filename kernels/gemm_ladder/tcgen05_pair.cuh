// Beyond tcgen05 of one block: two SMs multiply together (cta_group::2), so each brings half of B's
// rows for a tile that is twice as high. sm_100a and sm_103a alone.
#pragma once

#include <cluster.hpp>
#include <tcgen05_pair.hpp>

#include "kernels/gemm_ladder/tcgen05.cuh"

namespace gemm_ladder {

// A pair's tile of D. In each block, warps 0 to 3 store and warp 4 asks for tiles; in the even one,
// warp 5 asks for the products of both.
inline constexpr Tiles tcgen05_pair_tiles{256, 256, 64, 192, false};
namespace tcgen05_pair_parts {
using namespace bf16_rows;
using tcgen05_parts::storing_warps, tcgen05_parts::bringing_warp, tcgen05_parts::multiplying_warp,
    tcgen05_parts::tiles_at_once;
using tma_stages::TileGrid;
inline constexpr unsigned block_m = tcgen05_pair_tiles.block_m,
                          block_n = tcgen05_pair_tiles.block_n,
                          block_k = tcgen05_pair_tiles.block_k;
// A block's share of the rows of A, and of those of B: D's columns.
inline constexpr unsigned a_rows = block_m / 2, b_rows = block_n / 2;
inline constexpr unsigned a_bytes = a_rows * row_bytes, b_bytes = b_rows * row_bytes,
                          stage_bytes = a_bytes + b_bytes;
inline constexpr unsigned stages = 6;  // as many as fit
// Each block has the sums of its rows: a column of tensor memory for each of D's.
inline constexpr unsigned all_columns = tiles_at_once * block_n;
inline constexpr unsigned shared_bytes = pattern_bytes + stages * stage_bytes +
                                         storing_warps * chunk_bytes +
                                         (2 * (stages + tiles_at_once) + 1) * 8;
inline constexpr unsigned short both = 3;  // ranks of a pair

// What warps pass to each other, at the same place in both blocks. The even block's `brought` and
// `emptied` count for both; commits arrive at the others of either.
struct Pipeline {
  unsigned char *tiles, *staging;
  Mbarrier *brought, *done_with;  // one of each per stage
  Mbarrier *summed, *emptied;     // one of each per tile in tensor memory
  unsigned* place;                // of that

  __device__ explicit Pipeline(unsigned char* shared) {
    tiles = aligned(shared);
    staging = tiles + stages * stage_bytes;
    brought = reinterpret_cast<Mbarrier*>(staging + storing_warps * chunk_bytes);
    done_with = brought + stages;
    summed = done_with + stages;
    emptied = summed + tiles_at_once;
    place = reinterpret_cast<unsigned*>(emptied + tiles_at_once);
  }
};

// Pairs take tiles as blocks of tcgen05 do.
template <class Each>
__device__ __forceinline__ void each_tile(TileGrid grid, Each&& each) {
  unsigned tile = 0;
  for (unsigned i = blockIdx.x / 2; i < grid.rows * grid.columns; i += gridDim.x / 2, ++tile) {
    each(place_of_tile(i, grid.rows, grid.columns), tile);
  }
}

// One thread of each block. It waits for the last commits too: they arrive in both blocks, which
// must not have ended.
__device__ __forceinline__ void bring_tiles(const Pipeline& at, const CUtensorMap* of_a,
                                            const CUtensorMap* of_b, unsigned rank, TileGrid grid) {
  unsigned turn = 0;
  each_tile(grid, [&](TilePlace place, unsigned) {
    const unsigned row = place.row * block_m + rank * a_rows;
    const unsigned column = place.column * block_n + rank * b_rows;
    for (unsigned step = 0; step < grid.steps; ++step, ++turn) {
      const unsigned stage = turn % stages;
      unsigned char* const to = at.tiles + stage * stage_bytes;
      cluster_mbarrier_wait(&at.done_with[stage], turn / stages % 2 ^ 1);  // the first time at once
      if (rank == 0) mbarrier_expect(&at.brought[stage], 2 * stage_bytes);
      pair_copy_box(to, of_a, step * block_k, row, &at.brought[stage]);
      pair_copy_box(to + a_bytes, of_b, step * block_k, column, &at.brought[stage]);
    }
  });
  for (unsigned stage = 0; stage < stages; ++stage, ++turn) {
    cluster_mbarrier_wait(&at.done_with[turn % stages], turn / stages % 2 ^ 1);
  }
}

// One thread of the even block.
__device__ __forceinline__ void multiply_tiles(const Pipeline& at, unsigned sums, TileGrid grid) {
  constexpr auto bf16 = gpubench::Tcgen05Type::bf16;
  constexpr std::uint32_t product = gpubench::tcgen05_instruction(bf16, block_m, block_n);
  unsigned turn = 0;
  each_tile(grid, [&](TilePlace, unsigned tile) {
    const unsigned half = tile % tiles_at_once;
    cluster_mbarrier_wait(&at.emptied[half],
                          tile / tiles_at_once % 2 ^ 1);  // the first time at once
    tcgen05_fence_after_sync();
    for (unsigned step = 0; step < grid.steps; ++step, ++turn) {
      const unsigned stage = turn % stages;
      const unsigned char* const from = at.tiles + stage * stage_bytes;
      cluster_mbarrier_wait(&at.brought[stage], turn / stages % 2);
      tcgen05_fence_after_sync();
      const std::uint64_t a = matrix_at(from), b = matrix_at(from + a_bytes);
#pragma unroll
      for (unsigned on = 0; on < 4; ++on) {
        tcgen05_pair_mma<bf16>(sums + half * block_n, a + 2 * on, b + 2 * on, product,
                               step + on > 0);
      }
      tcgen05_pair_commit(&at.done_with[stage], both);
    }
    tcgen05_pair_commit(&at.summed[half], both);
  });
}

// A warp stores the 32 rows that its lanes of tensor memory hold.
__device__ __forceinline__ void store_tiles(const Pipeline& at, unsigned sums, element* d,
                                            unsigned n, unsigned rank, TileGrid grid) {
  const unsigned first_row = threadIdx.x / warp * warp;
  unsigned char* const staging = at.staging + threadIdx.x / warp * chunk_bytes;
  each_tile(grid, [&](TilePlace place, unsigned tile) {
    const unsigned half = tile % tiles_at_once;
    const std::size_t row = std::size_t{place.row} * block_m + rank * a_rows + first_row;
    cluster_mbarrier_wait(&at.summed[half], tile / tiles_at_once % 2);
    tcgen05_fence_after_sync();
    tcgen05_parts::store_tile(sums + half * block_n + (first_row << 16),
                              d + row * n + place.column * block_n, n, staging);
    tcgen05_fence_before_sync();
    __syncwarp();                                                 // all lanes are past their fence
    if (threadIdx.x % warp == 0) pair_arrive(&at.emptied[half]);  // for its warp
  });
}
}  // namespace tcgen05_pair_parts

// Persistent: no more blocks than SMs, in clusters of two, each of which takes every so many-th
// tile. of_a, of_b: boxes of 128 rows.
static __global__ void __launch_bounds__(tcgen05_pair_tiles.threads, 1)
    tcgen05_pair(const __grid_constant__ CUtensorMap of_a, const __grid_constant__ CUtensorMap of_b,
                 element* d, unsigned m, unsigned n, unsigned k) {
  using namespace tcgen05_pair_parts;
  const Pipeline at(static_cast<unsigned char*>(dynamic_shared()));
  const unsigned me = threadIdx.x / warp, rank = cluster_rank();
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < stages; ++s) {
      mbarrier_init(&at.brought[s]);
      mbarrier_init(&at.done_with[s]);
    }
    for (unsigned t = 0; t < tiles_at_once; ++t) {
      mbarrier_init(&at.summed[t]);
      mbarrier_init(&at.emptied[t], 2 * storing_warps);
    }
    cluster_mbarrier_fence();
  }
  cluster_sync();
  if (me == 0) tcgen05_pair_alloc<all_columns>(at.place);
  tcgen05_fence_before_sync();
  cluster_sync();
  tcgen05_fence_after_sync();
  const unsigned sums = *at.place;
  const TileGrid grid{m / block_m, n / block_n, k / block_k};
  if (me == bringing_warp) {
    if (threadIdx.x % warp == 0) bring_tiles(at, &of_a, &of_b, rank, grid);
  } else if (me == multiplying_warp) {
    if (threadIdx.x % warp == 0 && rank == 0) multiply_tiles(at, sums, grid);
  } else {
    store_tiles(at, sums, d, n, rank, grid);
  }
  __syncwarp();
  tcgen05_fence_before_sync();
  cluster_sync();
  tcgen05_fence_after_sync();
  if (me == 0) tcgen05_pair_dealloc<all_columns>(sums);
}

}  // namespace gemm_ladder
