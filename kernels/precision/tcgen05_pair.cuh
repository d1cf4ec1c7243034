// The same product by two SMs together (cta_group::2): each block brings half of B's rows for a
// tile that is twice as high, its own rows of A, and the scales of these rows and of all of B's.
// sm_100a and sm_103a alone.
#pragma once

#include <cluster.hpp>
#include <tcgen05_pair_scales.hpp>

#include "kernels/precision/tcgen05.cuh"

namespace precision {

namespace tcgen05_pair_parts {
using namespace tcgen05_parts;
inline constexpr unsigned pair_m = 2 * block_m;
inline constexpr unsigned short both = 3;  // ranks of a pair
template <class Format>
using PairStep = Step<Format, 2>;
// The even block's `brought` and `emptied` count for both; commits arrive at the others of either.
template <class Format>
using PairPipeline = Pipeline<Format, 2>;

struct ByPair {
  static constexpr unsigned blocks = 2;
  __device__ static void wait(Mbarrier* mbarrier, unsigned parity) {
    cluster_mbarrier_wait(mbarrier, parity);
  }
  __device__ static void commit(Mbarrier* mbarrier) { tcgen05_pair_commit(mbarrier, both); }
  __device__ static void arrive(Mbarrier* mbarrier) { pair_arrive(mbarrier); }
  __device__ static void copy(unsigned to, std::uint64_t from) {
    tcgen05_pair_copy_scales(to, from);
  }
  template <gpubench::Tcgen05Type type, class... Operands>
  __device__ static void multiply(Operands... operands) {
    tcgen05_pair_mma_scaled<type>(operands...);
  }
};

// Scales as rows of a tile each, since only a box can arrive at the other block's mbarrier.
struct PairOperand {
  const CUtensorMap *elements, *scales;
};

// One thread of each block. It waits for the last commits too: they arrive in both blocks, which
// must not have ended.
template <class Format>
__device__ __forceinline__ void bring_tiles(const PairPipeline<Format>& at, PairOperand a,
                                            PairOperand b, unsigned rank, Grid grid) {
  using Of = PairStep<Format>;
  constexpr unsigned stages = PairPipeline<Format>::stages;
  unsigned turn = 0;
  grid.each_tile<2>([&](gemm_ladder::TilePlace place, unsigned) {
    const unsigned row = place.row * pair_m + rank * block_m, column = place.column * block_n;
#pragma unroll 1
    for (unsigned step = 0; step < grid.steps; ++step, ++turn) {
      const unsigned stage = turn % stages;
      unsigned char* const to = at.tiles + stage * Of::bytes;
      Mbarrier* const brought = &at.brought[stage];
      const auto bring_scales = [&](unsigned place_in_stage, const CUtensorMap* map,
                                    unsigned first) {
        const unsigned before = first / scale_tile_rows * grid.steps + step;
        pair_copy_box(to + place_in_stage, map, 0, before * Of::scale_tiles, brought);
      };
      cluster_mbarrier_wait(&at.done_with[stage], turn / stages % 2 ^ 1);  // the first time at once
      if (rank == 0) mbarrier_expect(brought, 2 * Of::bytes);
      pair_copy_box(to, a.elements, step * (row_bytes / 2), row, brought);
      pair_copy_box(to + Of::b, b.elements, step * (row_bytes / 2), column + rank * Of::b_rows,
                    brought);
      bring_scales(Of::scales_a, a.scales, row);
      bring_scales(Of::scales_b, b.scales, column);
      bring_scales(Of::scales_b + Of::scale_bytes, b.scales, column + scale_tile_rows);
    }
  });
  for (unsigned stage = 0; stage < stages; ++stage, ++turn) {
    cluster_mbarrier_wait(&at.done_with[turn % stages], turn / stages % 2 ^ 1);
  }
}

}  // namespace tcgen05_pair_parts

// Whole tiles of 256 x 256. Persistent: no more blocks than SMs, in clusters of two, each of which
// takes every so many-th tile. of_a, of_b: in boxes of 128 rows. scales_a, scales_b: as rows of
// tiles of scales, in boxes of those of a step.
template <class Format>
__global__ void __launch_bounds__(tcgen05_parts::threads, 1)
    tcgen05_pair(const __grid_constant__ CUtensorMap of_a, const __grid_constant__ CUtensorMap of_b,
                 const __grid_constant__ CUtensorMap scales_a,
                 const __grid_constant__ CUtensorMap scales_b, float* d, float unscale, unsigned m,
                 unsigned n, unsigned k) {
  using namespace tcgen05_pair_parts;
  const PairPipeline<Format> at(static_cast<unsigned char*>(dynamic_shared()));
  auto* const place = reinterpret_cast<unsigned*>(at.emptied + 1);
  const unsigned me = threadIdx.x / lanes, rank = cluster_rank();
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < PairPipeline<Format>::stages; ++s) {
      mbarrier_init(&at.brought[s]);
      mbarrier_init(&at.done_with[s]);
    }
    mbarrier_init(at.summed);
    mbarrier_init(at.emptied, 2 * storing_warps);
    cluster_mbarrier_fence();
  }
  cluster_sync();
  if (me == 0) tcgen05_pair_alloc<all_columns>(place);
  tcgen05_fence_before_sync();
  cluster_sync();
  tcgen05_fence_after_sync();
  const unsigned memory = *place;
  const Grid grid{m / pair_m, n / block_n, k / PairStep<Format>::k};
  if (me == bringing_warp) {
    if (threadIdx.x % lanes == 0) {
      bring_tiles<Format>(at, {&of_a, &scales_a}, {&of_b, &scales_b}, rank, grid);
    }
  } else if (me == multiplying_warp) {
    if (threadIdx.x % lanes == 0 && rank == 0) multiply_tiles<ByPair, Format>(at, memory, grid);
  } else {
    store_tiles<ByPair, Format>(at, memory, d, unscale, n, rank, grid);
  }
  __syncwarp();
  tcgen05_fence_before_sync();
  cluster_sync();
  tcgen05_fence_after_sync();
  if (me == 0) tcgen05_pair_dealloc<all_columns>(memory);
}

}  // namespace precision
