// bf16 by mma.sync: a warp multiplies fragments that it has loaded into its registers.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <dynamic_shared.hpp>
#include <warp_mma.hpp>

#include "kernels/gemm_ladder/bf16.cuh"
#include "kernels/gemm_ladder/fp32.cuh"

namespace gemm_ladder {

// Eight warps of 64 x 64 elements each, two down and four across.
inline constexpr Tiles mma_sync_tiles{128, 256, 64, 256, false};
namespace mma_sync_parts {
inline constexpr unsigned stages = 3;
inline constexpr unsigned a_bytes = mma_sync_tiles.block_m * row_bytes,
                          b_bytes = mma_sync_tiles.block_n * row_bytes,
                          stage_bytes = a_bytes + b_bytes;
inline constexpr unsigned shared_bytes = stages * stage_bytes;
static_assert(8 * staging_bytes <= stage_bytes);

// A warp's fragments for sixteen k: of 64 rows of A, sixteen at a time, and of 64 of B, likewise
// (two times eight columns of the product).
struct Fragments {
  unsigned a[4][4], b[16];
};
// `a`, `b`: the warp's first rows. Lane i names row i % 16, piece i / 16 of A's sixteen by sixteen;
// of B's the second eight rows come third and fourth.
__device__ inline void load_fragments(Fragments& to, const unsigned char* a, const unsigned char* b,
                                      unsigned sixteen) {
  const unsigned lane = threadIdx.x % warp, piece = 2 * sixteen;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    ldmatrix(to.a[i], a + swizzled_place(16 * i + lane % 16, piece + lane / 16));
    ldmatrix(&to.b[4 * i],
             b + swizzled_place(16 * i + lane / 16 * 8 + lane % 8, piece + lane / 8 % 2));
  }
}
}  // namespace mma_sync_parts

static __global__ void __launch_bounds__(mma_sync_tiles.threads, 1)
    mma_sync(const element* a, const element* b, element* d, unsigned m, unsigned n, unsigned k) {
  using namespace mma_sync_parts;
  auto* const shared = static_cast<unsigned char*>(dynamic_shared());
  const auto [row, column] =
      place_of_tile(blockIdx.x, m / mma_sync_tiles.block_m, n / mma_sync_tiles.block_n);
  const unsigned t = threadIdx.x, which = t / warp;
  const element* from_a = a + std::size_t{row * mma_sync_tiles.block_m + t / 8} * k + t % 8 * 8;
  const element* from_b = b + std::size_t{column * mma_sync_tiles.block_n + t / 8} * k + t % 8 * 8;
  const unsigned steps = k / mma_sync_tiles.block_k;
  const auto fetch = [&](unsigned step) {
    constexpr unsigned rows_a_round = mma_sync_tiles.threads / 8;
    unsigned char* const to = shared + step % stages * stage_bytes;
    if (step < steps) {
#pragma unroll
      for (unsigned r = 0; r < mma_sync_tiles.block_m; r += rows_a_round) {
        __pipeline_memcpy_async(to + swizzled_place(r + t / 8, t % 8), from_a + std::size_t{r} * k,
                                piece_bytes);
      }
#pragma unroll
      for (unsigned r = 0; r < mma_sync_tiles.block_n; r += rows_a_round) {
        __pipeline_memcpy_async(to + a_bytes + swizzled_place(r + t / 8, t % 8),
                                from_b + std::size_t{r} * k, piece_bytes);
      }
      from_a += mma_sync_tiles.block_k;
      from_b += mma_sync_tiles.block_k;
    }
    __pipeline_commit();  // empty at the end, so that the count below stays right
  };
  for (unsigned step = 0; step + 1 < stages; ++step) fetch(step);
  float sums[4][8][4] = {};
#pragma unroll 1
  for (unsigned step = 0; step < steps; ++step) {
    __pipeline_wait_prior(stages - 2);
    __syncthreads();  // this tile is there, all of it, and nobody needs the one before any more
    const unsigned char* const of_a =
        shared + step % stages * stage_bytes + which / 4 * 64 * row_bytes;
    const unsigned char* const of_b =
        shared + step % stages * stage_bytes + a_bytes + which % 4 * 64 * row_bytes;
    Fragments now[2];  // of these sixteen k and of the next
    load_fragments(now[0], of_a, of_b, 0);
    fetch(step + stages - 1);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if (i + 1 < 4) load_fragments(now[(i + 1) % 2], of_a, of_b, i + 1);
      const Fragments& with = now[i % 2];
#pragma unroll
      for (unsigned r = 0; r < 4; ++r) mma_m16n8k16_bf16(sums[r], with.a[r], with.b);
    }
  }
  __syncthreads();  // the stages are free
  const unsigned first_row = row * mma_sync_tiles.block_m + which / 4 * 64;
  const unsigned first_column = column * mma_sync_tiles.block_n + which % 4 * 64;
#pragma unroll
  for (unsigned r = 0; r < 4; ++r) {
    store_rows<64>(d + std::size_t{first_row + 16 * r} * n + first_column, n, &sums[r][0][0],
                   shared + which * staging_bytes);
  }
}

}  // namespace gemm_ladder
