// The top rung in bf16: the copy engine brings tiles (TMA), four warps at a time multiply them
// straight from shared memory (wgmma), and nobody else has anything to do. sm_90a alone.
#pragma once

#include <cstdint>
#include <dynamic_shared.hpp>
#include <register_quota.hpp>
#include <warp_mma.hpp>

#include "kernels/gemm_ladder/tma_stages.cuh"

namespace gemm_ladder {

// One warpgroup asks for tiles; two multiply, 64 of the 128 rows each.
inline constexpr Tiles wgmma_tiles{tma_stages::block_m, tma_stages::block_n, tma_stages::block_k,
                                   384, false};
namespace wgmma_tma_parts {
using namespace tma_stages;
inline constexpr unsigned warpgroup = 128, multiplying_warps = 8, group_rows = 64;
inline constexpr unsigned shared_bytes =
    pattern_bytes + stages * stage_bytes + multiplying_warps * staging_bytes + 2 * stages * 8;

// What a block's warpgroups pass to each other, in shared memory.
struct Pipeline : Stages {
  unsigned char* staging;  // of the multiplying warps, on the way out

  __device__ explicit Pipeline(unsigned char* shared) {
    tiles = aligned(shared);
    staging = tiles + stages * stage_bytes;
    brought = reinterpret_cast<Mbarrier*>(staging + multiplying_warps * staging_bytes);
    done_with = brought + stages;
  }
};

__device__ __forceinline__ void multiply_tiles(const Pipeline& at, element* d, unsigned n,
                                               TileGrid grid) {
  const unsigned group = threadIdx.x / warpgroup - 1, in_group = threadIdx.x % warpgroup / warp;
  const bool speaks = threadIdx.x % warp == 0;  // for its warp
  unsigned turn = 0;
  float sums[128];
  for (unsigned i = blockIdx.x; i < grid.rows * grid.columns; i += gridDim.x) {
    for (unsigned step = 0; step < grid.steps; ++step, ++turn) {
      const unsigned stage = turn % stages;
      const unsigned char* const from = at.tiles + stage * stage_bytes;
      mbarrier_wait(&at.brought[stage], turn / stages % 2);
      const std::uint64_t a = rows_at(from + group * group_rows * row_bytes);
      const std::uint64_t b = rows_at(from + a_bytes);
      wgmma_begin(sums);
#pragma unroll
      for (unsigned on = 0; on < 4; ++on) {
        // Sixteen elements on: 32 bytes, in the descriptor's units of 16.
        wgmma_m64n256k16_bf16(sums, a + 2 * on, b + 2 * on, step + on > 0);
      }
      wgmma_commit();
      wgmma_wait_for<1>(sums);  // for the step before
      if (step > 0 && speaks) mbarrier_arrive(&at.done_with[(turn - 1) % stages]);
    }
    wgmma_wait_for<0>(sums);
    if (speaks) mbarrier_arrive(&at.done_with[(turn - 1) % stages]);
    const auto [row, column] = place_of_tile(i, grid.rows, grid.columns);
    const unsigned first = row * wgmma_tiles.block_m + group * group_rows + in_group * 16;
    element* const to = d + std::size_t{first} * n + column * wgmma_tiles.block_n;
    unsigned char* const mine = at.staging + (group * 4 + in_group) * staging_bytes;
    store_rows<128>(to, n, sums, mine);
    store_rows<128>(to + 128, n, sums + 64, mine);
  }
}
}  // namespace wgmma_tma_parts

// Persistent: no more blocks than SMs, each takes every gridDim.x-th tile. of_a, of_b: boxes
// of 128 and 256 rows (harness/cuda/tensor_map.hpp).
static __global__ void __launch_bounds__(wgmma_tiles.threads, 1)
    wgmma_tma(const __grid_constant__ CUtensorMap of_a, const __grid_constant__ CUtensorMap of_b,
              element* d, unsigned m, unsigned n, unsigned k) {
  using namespace wgmma_tma_parts;
  const Pipeline at(static_cast<unsigned char*>(dynamic_shared()));
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < stages; ++s) {
      mbarrier_init(&at.brought[s]);
      mbarrier_init(&at.done_with[s], multiplying_warps);
    }
  }
  __syncthreads();
  const TileGrid grid{m / wgmma_tiles.block_m, n / wgmma_tiles.block_n, k / wgmma_tiles.block_k};
  if (threadIdx.x < warpgroup) {
    give_registers_back<40>();
    if (threadIdx.x == 0) bring_tiles(at, &of_a, &of_b, grid);
  } else {
    take_registers<232>();
    multiply_tiles(at, d, n, grid);
  }
}

}  // namespace gemm_ladder
