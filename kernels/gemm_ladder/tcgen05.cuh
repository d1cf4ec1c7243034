// Beyond wgmma: sums lie in tensor memory, so one thread asks for all products of a block, and
// other warps store one tile while the next one is multiplied. sm_100a and sm_103a alone.
#pragma once

#include <cstdint>
#include <dynamic_shared.hpp>
#include <tcgen05.hpp>

#include "kernels/gemm_ladder/tma_stages.cuh"

namespace gemm_ladder {

// Warps 0 to 3 store, warp 4 asks for tiles and warp 5 for products.
inline constexpr Tiles tcgen05_tiles{tma_stages::block_m, tma_stages::block_n, tma_stages::block_k,
                                     192, false};
namespace tcgen05_parts {
using namespace tma_stages;
inline constexpr unsigned storing_warps = 4, bringing_warp = 4, multiplying_warp = 5;
// A column of tensor memory holds one of D's, for all rows of a tile: there is room for two tiles.
inline constexpr unsigned tiles_at_once = 2, all_columns = tiles_at_once * block_n;
inline constexpr unsigned shared_bytes = pattern_bytes + stages * stage_bytes +
                                         storing_warps * chunk_bytes +
                                         2 * (stages + tiles_at_once) * 8;

// What a block's warps pass to each other, in shared memory.
struct Pipeline : Stages {
  unsigned char* staging;      // of the storing warps, on the way out
  Mbarrier *summed, *emptied;  // one of each per tile in tensor memory

  __device__ explicit Pipeline(unsigned char* shared) {
    tiles = aligned(shared);
    staging = tiles + stages * stage_bytes;
    brought = reinterpret_cast<Mbarrier*>(staging + storing_warps * chunk_bytes);
    done_with = brought + stages;
    summed = done_with + stages;
    emptied = summed + tiles_at_once;
  }
};

// One thread asks for all products. `sums`: the first column of the block's tensor memory.
__device__ __forceinline__ void multiply_tiles(const Pipeline& at, unsigned sums, TileGrid grid) {
  constexpr auto bf16 = gpubench::Tcgen05Type::bf16;
  constexpr std::uint32_t product = gpubench::tcgen05_instruction(bf16, block_m, block_n);
  unsigned turn = 0, tile = 0;
  for (unsigned i = blockIdx.x; i < grid.rows * grid.columns; i += gridDim.x, ++tile) {
    const unsigned half = tile % tiles_at_once;
    mbarrier_wait(&at.emptied[half], tile / tiles_at_once % 2 ^ 1);  // the first time at once
    tcgen05_fence_after_sync();
    for (unsigned step = 0; step < grid.steps; ++step, ++turn) {
      const unsigned stage = turn % stages;
      const unsigned char* const from = at.tiles + stage * stage_bytes;
      mbarrier_wait(&at.brought[stage], turn / stages % 2);
      tcgen05_fence_after_sync();
      const std::uint64_t a = matrix_at(from), b = matrix_at(from + a_bytes);
#pragma unroll
      for (unsigned on = 0; on < 4; ++on) {
        // Sixteen elements on: 32 bytes, in the descriptor's units of 16.
        tcgen05_mma<bf16>(sums + half * block_n, a + 2 * on, b + 2 * on, product, step + on > 0);
      }
      tcgen05_commit(&at.done_with[stage]);
    }
    tcgen05_commit(&at.summed[half]);
  }
}

// A warp stores the 32 rows of a tile that its lanes of tensor memory hold, from that column on.
__device__ __forceinline__ void store_tile(unsigned sums, element* to, std::size_t n,
                                           unsigned char* staging) {
#pragma unroll 1
  for (unsigned done = 0; done < block_n; done += stored_columns) {
    float low[loaded_columns], high[loaded_columns];
    tcgen05_ld(low, sums + done);
    tcgen05_ld(high, sums + done + loaded_columns);
    tcgen05_wait_ld(low);
    tcgen05_wait_ld(high);
    store_chunk(to + done, n, low, high, staging);
  }
}

// A warp stores its rows of every tile.
__device__ __forceinline__ void store_tiles(const Pipeline& at, unsigned sums, element* d,
                                            unsigned n, TileGrid grid) {
  const unsigned first_row = threadIdx.x / warp * warp;
  unsigned char* const staging = at.staging + threadIdx.x / warp * chunk_bytes;
  unsigned tile = 0;
  for (unsigned i = blockIdx.x; i < grid.rows * grid.columns; i += gridDim.x, ++tile) {
    const unsigned half = tile % tiles_at_once;
    const auto [row, column] = place_of_tile(i, grid.rows, grid.columns);
    element* const to = d + (std::size_t{row} * block_m + first_row) * n + column * block_n;
    mbarrier_wait(&at.summed[half], tile / tiles_at_once % 2);
    tcgen05_fence_after_sync();
    store_tile(sums + half * block_n + (first_row << 16), to, n, staging);
    tcgen05_fence_before_sync();
    __syncwarp();  // all lanes are past their fence
    if (threadIdx.x % warp == 0) mbarrier_arrive(&at.emptied[half]);  // for its warp
  }
}
}  // namespace tcgen05_parts

// Persistent: no more blocks than SMs, each takes every gridDim.x-th tile. of_a, of_b: boxes
// of 128 and 256 rows (harness/cuda/tensor_map.hpp).
static __global__ void __launch_bounds__(tcgen05_tiles.threads, 1)
    tcgen05(const __grid_constant__ CUtensorMap of_a, const __grid_constant__ CUtensorMap of_b,
            element* d, unsigned m, unsigned n, unsigned k) {
  using namespace tcgen05_parts;
  __shared__ unsigned place;
  const Pipeline at(static_cast<unsigned char*>(dynamic_shared()));
  const unsigned me = threadIdx.x / warp;
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < stages; ++s) {
      mbarrier_init(&at.brought[s]);
      mbarrier_init(&at.done_with[s]);
    }
    for (unsigned t = 0; t < tiles_at_once; ++t) {
      mbarrier_init(&at.summed[t]);
      mbarrier_init(&at.emptied[t], storing_warps);
    }
  }
  __syncwarp();
  if (me == 0) tcgen05_alloc<all_columns>(&place);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  const unsigned sums = place;
  const TileGrid grid{m / block_m, n / block_n, k / block_k};
  if (me == bringing_warp) {
    if (threadIdx.x % warp == 0) bring_tiles(at, &of_a, &of_b, grid);
  } else if (me == multiplying_warp) {
    if (threadIdx.x % warp == 0) multiply_tiles(at, sums, grid);
  } else {
    store_tiles(at, sums, d, n, grid);
  }
  __syncwarp();
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  if (me == 0) tcgen05_dealloc<all_columns>(sums);
}

}  // namespace gemm_ladder
