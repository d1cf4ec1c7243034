// Attention for Blackwell's data-centre parts, as FlashAttention-4 has it: scores, weights and
// results lie in tensor memory, one thread asks for all products of a block (tcgen05), and each
// thread of two warpgroups takes the softmax of a whole row. sm_100a and sm_103a alone.
//
// A block has two tiles of 128 queries, which take turns: while the Tensor Cores multiply for one,
// a warpgroup takes the softmax of the other. Its weights, in bf16, replace the scores, and
// multiply V from there. Products of one thread are taken to be made in order, as
// FlashAttention-4 and CUTLASS take them: so the scores of the next tile of keys may replace
// weights once the product that reads those has been asked for.
#pragma once

#include <bulk_copy.hpp>
#include <cstddef>
#include <cstdint>
#include <dynamic_shared.hpp>
#include <register_quota.hpp>
#include <tcgen05.hpp>

#include "kernels/attention/groups.cuh"
#include "kernels/attention/rings.cuh"
#include "kernels/attention/softmax.cuh"

namespace attention {

namespace tcgen05_parts {
using namespace rings;

// Warps 0 to 3 take the softmax of the first tile of queries, 4 to 7 that of the second; warp 8
// asks for tiles and warp 9 for products; 10 and 11 complete the warpgroup, which gives registers
// to the others.
inline constexpr unsigned query_tiles = 2, group_warps = 4, weighing_warps = 8, bringing_warp = 8,
                          multiplying_warp = 9, threads = 12 * warp;
inline constexpr unsigned keys = 128, stages = 2, group_queries = query_tiles * tile_rows;
static_assert(tile_rows == queries && tile_rows == keys);
// Columns of tensor memory: each tile's scores, and behind those each tile's results.
inline constexpr unsigned all_columns = 512, first_result = query_tiles * keys;

// What the warps pass to each other, in shared memory.
template <unsigned head_dim>
struct Pipeline {
  static constexpr unsigned rings = query_tiles + 2 * stages;
  static constexpr unsigned bytes = pattern_bytes + rings * tile_bytes<head_dim> +
                                    weighing_warps * chunk_bytes +
                                    (2 * rings + 3 * query_tiles) * sizeof(Mbarrier);
  Ring<head_dim, 1> q[query_tiles];
  Ring<head_dim, stages> k, v;
  unsigned char* staging;               // of the weighing warps, on the way out
  Mbarrier *scored, *weighed, *summed;  // of each tile of queries

  __device__ explicit Pipeline(unsigned char* shared) {
    q[0].tiles = aligned(shared);
    q[1].tiles = q[0].tiles + q[0].tiles_bytes;
    k.tiles = q[1].tiles + q[1].tiles_bytes;
    v.tiles = k.tiles + k.tiles_bytes;
    staging = v.tiles + v.tiles_bytes;
    q[0].brought = reinterpret_cast<Mbarrier*>(staging + weighing_warps * chunk_bytes);
    q[0].done_with = q[0].brought + 1;
    q[1].brought = q[0].done_with + 1;
    q[1].done_with = q[1].brought + 1;
    k.brought = q[1].done_with + 1;
    k.done_with = k.brought + stages;
    v.brought = k.done_with + stages;
    v.done_with = v.brought + stages;
    scored = v.done_with + stages;
    weighed = scored + query_tiles;
    summed = weighed + query_tiles;
  }
  __device__ void init() const {
    k.init(1);
    v.init(1);
    for (unsigned tile = 0; tile < query_tiles; ++tile) {
      q[tile].init(1);
      mbarrier_init(&scored[tile]);
      mbarrier_init(&weighed[tile], group_warps);
      mbarrier_init(&summed[tile]);
    }
  }
};

// How many tiles of keys the 128 queries see that begin there: none if there are no such queries.
__device__ __forceinline__ unsigned tiles_seen(const Work& work, unsigned first) {
  return first < work.seq ? work.keys_seen(first) / keys : 0;
}
// The same of a block's two tiles of queries together.
__device__ __forceinline__ unsigned steps_of(const Work& work, unsigned first) {
  const unsigned seen = tiles_seen(work, first), next = tiles_seen(work, first + tile_rows);
  return seen > next ? seen : next;
}

// One thread asks for the tiles in the order in which they are multiplied. At last it waits for the
// last commit, which nobody else does: its block must not end before.
template <unsigned head_dim>
__device__ __forceinline__ void bring_tiles(const Pipeline<head_dim>& at, const Maps& from,
                                            const Work& work, unsigned group) {
  const unsigned head = blockIdx.y * work.seq, kv_head = blockIdx.y / group * work.seq;
  unsigned n = 0;  // of tiles of K and of V
  for (unsigned i = 0; i < work.groups; ++i) {
    const unsigned first = work.first_query(i), steps = steps_of(work, first);
    at.q[0].bring(i, from.q, head + first);
    at.k.bring(n, from.k, kv_head);
    if (first + tile_rows < work.seq) at.q[1].bring(i, from.q, head + first + tile_rows);
    for (unsigned t = 1; t < steps; ++t) {
      at.k.bring(n + t, from.k, kv_head + t * keys);
      at.v.bring(n + t - 1, from.v, kv_head + (t - 1) * keys);
    }
    at.v.bring(n + steps - 1, from.v, kv_head + (steps - 1) * keys);
    n += steps;
  }
  at.v.wait_until_done(n - 1);
}

inline constexpr auto bf16 = gpubench::Tcgen05Type::bf16;

// scores = Q K^T
template <unsigned head_dim>
__device__ __forceinline__ void multiply_keys(unsigned scores, const unsigned char* q,
                                              const unsigned char* k) {
  constexpr std::uint32_t product = gpubench::tcgen05_instruction(bf16, tile_rows, keys);
#pragma unroll
  for (unsigned d = 0; d < head_dim; d += 16) {
    // Sixteen elements on: 32 bytes, in the descriptor's units of 16.
    const unsigned panel = d / panel_elements * panel_bytes, on = d % panel_elements / 8;
    tcgen05_mma<bf16>(scores, matrix_at(q + panel) + on, matrix_at(k + panel) + on, product, d > 0);
  }
}

// results = weights V, or results += weights V
template <unsigned head_dim>
__device__ __forceinline__ void multiply_values(unsigned results, unsigned weights,
                                                const unsigned char* v, bool adds) {
  constexpr std::uint32_t product = gpubench::tcgen05_instruction(bf16, tile_rows, head_dim, true);
#pragma unroll
  for (unsigned n = 0; n < keys; n += 16) {  // eight columns of weights
    tcgen05_mma_of_columns<bf16>(results, weights + n / 2,
                                 matrix_at(v + n * row_bytes, panel_bytes), product, adds || n > 0);
  }
}

// One thread asks for all products: in a step, of each tile of queries, those of weights and the
// last tile of V, and behind them those with the next tile of K. `columns`: the block's first.
template <unsigned head_dim>
__device__ __forceinline__ void multiply_tiles(const Pipeline<head_dim>& at, unsigned columns,
                                               const Work& work) {
  unsigned n = 0, turns[query_tiles] = {};  // tiles of K and V before; tiles weighed
  for (unsigned i = 0; i < work.groups; ++i) {
    const unsigned first = work.first_query(i), steps = steps_of(work, first);
    for (unsigned t = 0; t <= steps; ++t) {
      const unsigned char* const k = t < steps ? at.k.wait_for(n + t) : nullptr;
      const unsigned char* const v = t > 0 ? at.v.wait_for(n + t - 1) : nullptr;
#pragma unroll
      for (unsigned tile = 0; tile < query_tiles; ++tile) {
        const unsigned seen = tiles_seen(work, first + tile * tile_rows);
        const unsigned scores = columns + tile * keys,
                       results = columns + first_result + tile * head_dim;
        if (t > 0 && t <= seen) {
          mbarrier_wait(&at.weighed[tile], turns[tile]++ % 2);
          tcgen05_fence_after_sync();
          multiply_values<head_dim>(results, scores, v, t > 1);
          if (t == seen) tcgen05_commit(&at.summed[tile]);
        }
        if (t < seen) {
          const unsigned char* const q = at.q[tile].wait_for(i);
          tcgen05_fence_after_sync();
          multiply_keys<head_dim>(scores, q, k);
          tcgen05_commit(&at.scored[tile]);
          if (t + 1 == seen) tcgen05_commit(at.q[tile].done_with);
        }
      }
      if (t < steps) tcgen05_commit(&at.k.done_with[(n + t) % stages]);
      if (t > 0) tcgen05_commit(&at.v.done_with[(n + t - 1) % stages]);
    }
    n += steps;
  }
}

// A thread's row of scores, in pieces as they are loaded.
inline constexpr unsigned pieces = keys / loaded_columns;
using Scores = float[pieces][loaded_columns];

__device__ __forceinline__ void load_row(Scores& scores, unsigned from) {
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) tcgen05_ld(scores[p], from + p * loaded_columns);
#pragma unroll
  for (unsigned p = 0; p < pieces; ++p) tcgen05_wait_ld(scores[p]);
}

// On the diagonal, query `row` of its tile sees the keys up to that of the same number.
__device__ __forceinline__ void mask_row(Scores& scores, unsigned row) {
#pragma unroll
  for (unsigned key = 0; key < keys; ++key) {
    if (key > row) scores[key / loaded_columns][key % loaded_columns] = -INFINITY;
  }
}

// The largest score, or `so_far` if that is larger. Several chains: one would wait for itself.
inline constexpr unsigned chains = 4;
__device__ __forceinline__ float row_max(const Scores& scores, float so_far) {
  float maximum[chains] = {so_far, so_far, so_far, so_far};
#pragma unroll
  for (unsigned key = 0; key < keys; ++key) {
    float& largest = maximum[key % chains];
    largest = fmaxf(largest, scores[key / loaded_columns][key % loaded_columns]);
  }
  return fmaxf(fmaxf(maximum[0], maximum[1]), fmaxf(maximum[2], maximum[3]));
}

// Scores become weights, 2^(score * scale - base), in columns from `to` on, two in each. Their sum.
__device__ __forceinline__ float weigh_row(const Scores& scores, float scale, float base,
                                           unsigned to) {
  float sum[chains] = {};
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    unsigned weights[loaded_columns];
#pragma unroll
    for (unsigned i = 0; i < loaded_columns; ++i) {
      const unsigned key = half * keys / 2 + 2 * i;
      const float* const two = &scores[key / loaded_columns][key % loaded_columns];
      const float low = fast_exp2(fmaf(two[0], scale, -base)),
                  high = fast_exp2(fmaf(two[1], scale, -base));
      sum[2 * i % chains] = __fadd_rn(sum[2 * i % chains], low);
      sum[2 * i % chains + 1] = __fadd_rn(sum[2 * i % chains + 1], high);
      weights[i] = packed(low, high);
    }
    tcgen05_st(to + half * loaded_columns, weights);
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <unsigned head_dim>
__device__ __forceinline__ void scale_row(unsigned results, float by) {
#pragma unroll 1
  for (unsigned done = 0; done < head_dim; done += loaded_columns) {
    float some[loaded_columns];
    tcgen05_ld(some, results + done);
    tcgen05_wait_ld(some);
#pragma unroll
    for (unsigned i = 0; i < loaded_columns; ++i) some[i] *= by;
    tcgen05_st(results + done, some);
  }
}

// A thread's row: the score that weights are taken against, and the sum of its weights.
struct Row {
  float base_score = -INFINITY, sum = 0;
};

// Weights are taken against the largest score so far, or one that is less by no more than this many
// powers of two: sums of such weights are still exact enough, and results seldom need to be scaled.
inline constexpr float slack = 8;

// One tile of keys. Scores lie from column `scores` on; where they are there, the results of tiles
// before are, since the products of those were asked for earlier.
template <unsigned head_dim>
__device__ __forceinline__ void weigh_tile(Row& row, unsigned scores_at, unsigned results,
                                           float scale, bool is_first, bool is_masked) {
  Scores scores;
  load_row(scores, scores_at);
  if (is_masked) mask_row(scores, threadIdx.x % tile_rows);
  const float largest = row_max(scores, row.base_score);
  const bool moves = (largest - row.base_score) * scale > slack;
  if (__any_sync(0xffffffffu, moves)) {
    const float kept = moves ? fast_exp2((row.base_score - largest) * scale) : 1;
    if (moves) row.base_score = largest;
    row.sum *= kept;
    if (!is_first) scale_row<head_dim>(results, kept);
  }
  row.sum += weigh_row(scores, scale, row.base_score * scale, scores_at);
  tcgen05_wait_st();
}

// To memory, divided by the sum of the weights. `to`: the first of the warp's 32 rows.
template <unsigned head_dim>
__device__ __forceinline__ void store_results(unsigned results, float share, element* to,
                                              unsigned char* staging) {
#pragma unroll 1
  for (unsigned done = 0; done < head_dim; done += stored_columns) {
    float low[loaded_columns], high[loaded_columns];
    tcgen05_ld(low, results + done);
    tcgen05_ld(high, results + done + loaded_columns);
    tcgen05_wait_ld(low);
    tcgen05_wait_ld(high);
#pragma unroll
    for (unsigned i = 0; i < loaded_columns; ++i) low[i] *= share, high[i] *= share;
    store_chunk(to + done, head_dim, low, high, staging);
  }
}

// What a warpgroup does for its tile of each group of queries. `out`: the head's results.
template <unsigned head_dim>
__device__ __forceinline__ void weigh_tiles(const Pipeline<head_dim>& at, unsigned columns,
                                            const Work& work, element* out, float scale) {
  const unsigned me = threadIdx.x / warp, tile = me / group_warps;
  const unsigned first_row = me % group_warps * warp, lanes = first_row << 16;
  const unsigned scores = columns + lanes + tile * keys,
                 results = columns + lanes + first_result + tile * head_dim;
  unsigned turn = 0;
#pragma unroll 1
  for (unsigned i = 0; i < work.groups; ++i) {
    const unsigned first = work.first_query(i) + tile * tile_rows, seen = tiles_seen(work, first);
    if (seen == 0) continue;
    Row row;
#pragma unroll 1
    for (unsigned t = 0; t < seen; ++t, ++turn) {
      mbarrier_wait(&at.scored[tile], turn % 2);
      tcgen05_fence_after_sync();
      weigh_tile<head_dim>(row, scores, results, scale, t == 0, work.causal && t + 1 == seen);
      tcgen05_fence_before_sync();
      __syncwarp();  // all lanes are past their fence
      if (threadIdx.x % warp == 0) mbarrier_arrive(&at.weighed[tile]);  // for its warp
    }
    mbarrier_wait(&at.summed[tile], i % 2);
    tcgen05_fence_after_sync();
    store_results<head_dim>(results, 1 / row.sum, out + (std::size_t{first} + first_row) * head_dim,
                            at.staging + me * chunk_bytes);
  }
}
}  // namespace tcgen05_parts

// grid: (blocks_of(seq, causal, 256), heads of the batch); seq: a multiple of 128. of_q, of_k,
// of_v: boxes of 128 rows (harness/cuda/tensor_map.hpp) of matrices that have the heads one below
// the other; `group` heads of Q share one of K and V.
template <unsigned head_dim>
__global__ void __launch_bounds__(tcgen05_parts::threads, 1)
    tcgen05(const __grid_constant__ CUtensorMap of_q, const __grid_constant__ CUtensorMap of_k,
            const __grid_constant__ CUtensorMap of_v, bf16_rows::element* out, unsigned seq,
            unsigned group, float scale, bool causal) {
  using namespace tcgen05_parts;
  __shared__ unsigned place;
  const Pipeline<head_dim> at(static_cast<unsigned char*>(dynamic_shared()));
  const Work work(seq, causal, group_queries);
  const unsigned me = threadIdx.x / warp;
  if (threadIdx.x == 0) at.init();
  __syncwarp();
  if (me == 0) tcgen05_alloc<all_columns>(&place);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  const unsigned columns = place;
  if (me >= weighing_warps) {
    give_registers_back<64>();
    if (threadIdx.x == bringing_warp * warp) bring_tiles(at, {&of_q, &of_k, &of_v}, work, group);
    if (threadIdx.x == multiplying_warp * warp) multiply_tiles(at, columns, work);
  } else {
    take_registers<216>();
    weigh_tiles(at, columns, work, out + blockIdx.y * std::size_t{seq} * head_dim, scale);
  }
  __syncwarp();
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  if (me == 0) tcgen05_dealloc<all_columns>(columns);
}

}  // namespace attention
