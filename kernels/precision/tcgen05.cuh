// A product of types with block scales by tcgen05, of elements as a library takes them: one thread
// asks the copy engine for elements and scales, another copies the scales on into tensor memory and
// asks for products, and four warps store one tile while the next one is multiplied. sm_100a and
// sm_103a alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <dynamic_shared.hpp>
#include <tcgen05_scales.hpp>
#include <type_traits>

#include "kernels/gemm_ladder/bf16.cuh"
#include "kernels/precision/formats.cuh"

namespace precision {

namespace tcgen05_parts {
using bf16_rows::loaded_columns, bf16_rows::matrix_at, bf16_rows::pattern_bytes,
    bf16_rows::piece_bytes, bf16_rows::row_bytes, bf16_rows::swizzled_place;

inline constexpr unsigned lanes = 32, block_m = 128, block_n = 256;
// Warps 0 to 3 store, warp 4 asks for tiles and warp 5 for products.
inline constexpr unsigned threads = 192, storing_warps = 4, bringing_warp = 4, multiplying_warp = 5;

// Columns of tensor memory. Beside the scales there is no room for two tiles of sums, so every
// second one begins where the last columns of the others are: these are stored first.
inline constexpr unsigned second_tile = 192, shared_columns = block_n - second_tile,
                          scales = second_tile + block_n, all_columns = 512;

// Scales lie in tiles of 128 rows by 4 blocks (scale_offset() in harness/platform/gemm.hpp), of
// which a copy brings one into four columns.
inline constexpr unsigned scale_tile_rows = 128, scale_tile_bytes = 512, copied_columns = 4;

// A step along k is a row of 128 bytes, in four products of 32, which so many blocks make together.
template <class Format, unsigned blocks = 1>
struct Step {
  static constexpr gpubench::Tcgen05Type type =
      std::is_same_v<Format, Mxfp8> ? gpubench::Tcgen05Type::mxfp8 : gpubench::Tcgen05Type::nvfp4;
  static constexpr unsigned bits = std::is_same_v<Format, Mxfp8> ? 8 : 4, products = 4;
  static constexpr unsigned k = row_bytes * 8 / bits;
  // For 128 rows: one for all products of mxfp8, and one for each of nvfp4.
  static constexpr unsigned scale_tiles = k / Format::together / 4;
  static constexpr unsigned scale_bytes = scale_tiles * scale_tile_bytes;

  // A stage of each block: rows of A, its share of those of B, scales of these rows of A, and of
  // either half of B.
  static constexpr unsigned b_rows = block_n / blocks;
  static constexpr unsigned b = block_m * row_bytes, scales_a = b + b_rows * row_bytes,
                            scales_b = scales_a + scale_bytes, bytes = scales_b + 2 * scale_bytes;
  // Where copies leave them.
  static constexpr unsigned columns_a = scales, columns_b = scales + scale_tiles * copied_columns;
  static_assert(columns_b + 2 * scale_tiles * copied_columns <= all_columns);
};

// What warps pass to each other, in shared memory, at the same place in all `blocks`.
template <class Format, unsigned blocks = 1>
struct Pipeline {
  using Of = Step<Format, blocks>;
  static constexpr unsigned staged_bytes = lanes * row_bytes;  // of a storing warp
  static constexpr unsigned around = pattern_bytes + storing_warps * staged_bytes;
  static constexpr unsigned most_bytes = 227 * 1024, most_stages = 6, barrier_bytes = 128;
  static constexpr unsigned that_fit = (most_bytes - around - barrier_bytes) / Of::bytes;
  static constexpr unsigned stages = that_fit < most_stages ? that_fit : most_stages;
  static constexpr unsigned bytes = around + stages * Of::bytes + barrier_bytes;
  static_assert((2 * stages + 3) * sizeof(Mbarrier) <= barrier_bytes);

  unsigned char *tiles, *staging;  // of steps; of the storing warps, on the way out
  Mbarrier *brought, *done_with;   // one of each per stage
  Mbarrier *summed, *emptied;      // a tile; the columns that the next one begins with

  __device__ explicit Pipeline(unsigned char* shared)
      : tiles(bf16_rows::aligned(shared)),
        staging(tiles + stages * Of::bytes),
        brought(reinterpret_cast<Mbarrier*>(staging + storing_warps * staged_bytes)),
        done_with(brought + stages),
        summed(done_with + stages),
        emptied(summed + 1) {}
};

// Tiles of D, and the steps of each.
struct Grid {
  unsigned rows, columns, steps;

  // Calls `each` with every tile that this block, or these together, take, and its number there.
  template <unsigned blocks = 1, class Each>
  __device__ __forceinline__ void each_tile(Each&& each) const {
    unsigned tile = 0;
    for (unsigned i = blockIdx.x / blocks; i < rows * columns; i += gridDim.x / blocks, ++tile) {
      each(gemm_ladder::place_of_tile(i, rows, columns), tile);
    }
  }
};

struct Operand {
  const CUtensorMap* elements;
  const std::uint8_t* scales;
};

// One thread.
template <class Format>
__device__ __forceinline__ void bring_tiles(const Pipeline<Format>& at, Operand a, Operand b,
                                            Grid grid) {
  using Of = Step<Format>;
  constexpr unsigned stages = Pipeline<Format>::stages;
  unsigned turn = 0;
  grid.each_tile([&](gemm_ladder::TilePlace place, unsigned) {
    const unsigned row = place.row * block_m, column = place.column * block_n;
#pragma unroll 1
    for (unsigned step = 0; step < grid.steps; ++step, ++turn) {
      const unsigned stage = turn % stages;
      unsigned char* const to = at.tiles + stage * Of::bytes;
      Mbarrier* const brought = &at.brought[stage];
      // Those of 128 rows, one step after the other.
      const auto scales_of = [&](const std::uint8_t* all, unsigned first) {
        const std::size_t before = std::size_t{first / scale_tile_rows} * grid.steps + step;
        return all + before * Of::scale_bytes;
      };
      mbarrier_wait(&at.done_with[stage], turn / stages % 2 ^ 1);  // the first time at once
      mbarrier_expect(brought, Of::bytes);
      // In the engine's elements of two bytes.
      bulk_copy_box(to, a.elements, step * (row_bytes / 2), row, brought);
      bulk_copy_box(to + Of::b, b.elements, step * (row_bytes / 2), column, brought);
      bulk_copy(to + Of::scales_a, scales_of(a.scales, row), Of::scale_bytes, brought);
      for (unsigned i = 0; i < 2; ++i) {
        bulk_copy(to + Of::scales_b + i * Of::scale_bytes,
                  scales_of(b.scales, column + i * scale_tile_rows), Of::scale_bytes, brought);
      }
    }
  });
}

// What one thread asks for and waits for, here of its block alone.
struct ByOneBlock {
  static constexpr unsigned blocks = 1;
  __device__ static void wait(Mbarrier* mbarrier, unsigned parity) {
    mbarrier_wait(mbarrier, parity);
  }
  __device__ static void commit(Mbarrier* mbarrier) { tcgen05_commit(mbarrier); }
  __device__ static void arrive(Mbarrier* mbarrier) { mbarrier_arrive(mbarrier); }
  __device__ static void copy(unsigned to, std::uint64_t from) { tcgen05_copy_scales(to, from); }
  template <gpubench::Tcgen05Type type, class... Operands>
  __device__ static void multiply(Operands... operands) {
    tcgen05_mma_scaled<type>(operands...);
  }
};

// Copies and products, which the Tensor Cores make in that order: a step's scales replace those of
// the step before.
template <class Format, class By>
__device__ __forceinline__ void multiply_step(const unsigned char* from, unsigned memory,
                                              unsigned sums, bool adds) {
  using Of = Step<Format, By::blocks>;
  const auto copy = [&](unsigned column, const unsigned char* tile) {
    By::copy(memory + column,
             gpubench::tcgen05_matrix(place_in_shared(tile), 16, 128, gpubench::Swizzle::none));
  };
#pragma unroll
  for (unsigned t = 0; t < Of::scale_tiles; ++t) {
    const unsigned char* const tile = from + t * scale_tile_bytes;
    const unsigned of_b = Of::columns_b + 2 * t * copied_columns;
    copy(Of::columns_a + t * copied_columns, tile + Of::scales_a);
    copy(of_b, tile + Of::scales_b);
    copy(of_b + copied_columns, tile + Of::scales_b + Of::scale_bytes);
  }
  const std::uint64_t a = matrix_at(from), b = matrix_at(from + Of::b);
#pragma unroll
  for (unsigned on = 0; on < Of::products; ++on) {
    const unsigned t = on % Of::scale_tiles;
    const unsigned byte = Of::scale_tiles == 1 ? on : 0;
    const std::uint32_t product =
        gpubench::tcgen05_scaled_instruction(Of::type, By::blocks * block_m, block_n, byte, byte);
    // 32 bytes on, in the descriptor's units of 16.
    By::template multiply<Of::type>(
        sums, a + 2 * on, b + 2 * on, product, memory + Of::columns_a + t * copied_columns,
        memory + Of::columns_b + 2 * t * copied_columns, adds || on > 0);
  }
}

template <class By, class Format>
__device__ __forceinline__ void multiply_tiles(const Pipeline<Format, By::blocks>& at,
                                               unsigned memory, Grid grid) {
  constexpr unsigned stages = Pipeline<Format, By::blocks>::stages;
  unsigned turn = 0;
  grid.each_tile<By::blocks>([&](gemm_ladder::TilePlace, unsigned tile) {
    By::wait(at.emptied, tile % 2 ^ 1);  // the first time at once
    tcgen05_fence_after_sync();
#pragma unroll 1
    for (unsigned step = 0; step < grid.steps; ++step, ++turn) {
      const unsigned stage = turn % stages;
      By::wait(&at.brought[stage], turn / stages % 2);
      tcgen05_fence_after_sync();
      multiply_step<Format, By>(at.tiles + stage * Step<Format, By::blocks>::bytes, memory,
                                memory + tile % 2 * second_tile, step > 0);
      By::commit(&at.done_with[stage]);
    }
    By::commit(at.summed);
  });
}

// A lane's 32 sums of one row, to whole lines of memory. `to`: the first of the warp's 32 rows,
// which are `n` apart.
__device__ __forceinline__ void store_sums(float* to, std::size_t n,
                                           const float (&sums)[loaded_columns], float unscale,
                                           unsigned char* staging) {
  constexpr unsigned pieces = row_bytes / piece_bytes, at_once = lanes / pieces;
  const unsigned lane = threadIdx.x % lanes, piece = lane % pieces;
  __syncwarp();  // what was staged before has been read
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) {
    const float* const x = &sums[4 * p];
    *reinterpret_cast<float4*>(staging + swizzled_place(lane, p)) =
        make_float4(x[0] * unscale, x[1] * unscale, x[2] * unscale, x[3] * unscale);
  }
  __syncwarp();
#pragma unroll
  for (unsigned first = 0; first < lanes; first += at_once) {
    const unsigned row = first + lane / pieces;
    *reinterpret_cast<float4*>(to + row * n + piece * 4) =
        *reinterpret_cast<const float4*>(staging + swizzled_place(row, piece));
  }
}

// A warp stores its 32 rows of a tile, and calls `give_up` once the columns have been read with
// which the next tile begins. `sums`: where the first of two tiles begins in these lanes.
template <class GiveUp>
__device__ __forceinline__ void store_tile(unsigned sums, bool is_second, float* to, std::size_t n,
                                           float unscale, unsigned char* staging,
                                           GiveUp&& give_up) {
#pragma unroll 1
  for (unsigned done = 0; done < block_n; done += loaded_columns) {
    const unsigned column = ((is_second ? 0 : second_tile) + done) % block_n;
    float held[loaded_columns];
    tcgen05_ld(held, sums + (is_second ? second_tile : 0) + column);
    tcgen05_wait_ld(held);
    if (done + loaded_columns == shared_columns) {
      tcgen05_fence_before_sync();
      __syncwarp();                             // all lanes are past their fence
      if (threadIdx.x % lanes == 0) give_up();  // for its warp
    }
    store_sums(to + column, n, held, unscale, staging);
  }
}

// A warp stores the 32 rows of every tile that its lanes of tensor memory hold.
template <class By, class Format>
__device__ __forceinline__ void store_tiles(const Pipeline<Format, By::blocks>& at, unsigned memory,
                                            float* d, float unscale, unsigned n, unsigned rank,
                                            Grid grid) {
  const unsigned warp = threadIdx.x / lanes, first_row = warp * lanes;
  unsigned char* const staging = at.staging + warp * at.staged_bytes;
  grid.each_tile<By::blocks>([&](gemm_ladder::TilePlace place, unsigned tile) {
    const std::size_t block = std::size_t{place.row} * By::blocks + rank;
    By::wait(at.summed, tile % 2);
    tcgen05_fence_after_sync();
    store_tile(memory + (first_row << 16), tile % 2 == 1,
               d + (block * block_m + first_row) * n + std::size_t{place.column} * block_n, n,
               unscale, staging, [&] { By::arrive(at.emptied); });
  });
}
}  // namespace tcgen05_parts

// d[m][n] = unscale * sum over k of a[m][k] * b[n][k], each times its block's scale. Whole tiles of
// 128 x 256 and whole steps. Persistent: no more blocks than SMs, each takes every gridDim.x-th
// tile. of_a, of_b: of rows of bytes, as if two each were a bfloat16, in boxes of 128 and 256 rows.
template <class Format>
__global__ void __launch_bounds__(tcgen05_parts::threads, 1)
    tcgen05(const __grid_constant__ CUtensorMap of_a, const __grid_constant__ CUtensorMap of_b,
            const std::uint8_t* scales_a, const std::uint8_t* scales_b, float* d, float unscale,
            unsigned m, unsigned n, unsigned k) {
  using namespace tcgen05_parts;
  __shared__ unsigned place;
  const Pipeline<Format> at(static_cast<unsigned char*>(dynamic_shared()));
  const unsigned me = threadIdx.x / lanes;
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < Pipeline<Format>::stages; ++s) {
      mbarrier_init(&at.brought[s]);
      mbarrier_init(&at.done_with[s]);
    }
    mbarrier_init(at.summed);
    mbarrier_init(at.emptied, storing_warps);
  }
  __syncwarp();
  if (me == 0) tcgen05_alloc<all_columns>(&place);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  const unsigned memory = place;
  const Grid grid{m / block_m, n / block_n, k / Step<Format>::k};
  if (me == bringing_warp) {
    if (threadIdx.x % lanes == 0)
      bring_tiles<Format>(at, {&of_a, scales_a}, {&of_b, scales_b}, grid);
  } else if (me == multiplying_warp) {
    if (threadIdx.x % lanes == 0) multiply_tiles<ByOneBlock, Format>(at, memory, grid);
  } else {
    store_tiles<ByOneBlock, Format>(at, memory, d, unscale, n, 0, grid);
  }
  __syncwarp();
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  if (me == 0) tcgen05_dealloc<all_columns>(memory);
}

}  // namespace precision
