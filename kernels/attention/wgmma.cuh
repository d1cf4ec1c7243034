// Attention for Hopper, as FlashAttention-3 has it (Shah and others, arXiv 2407.08608): the copy
// engine brings tiles (TMA), warpgroups multiply them straight from shared memory (wgmma), and the
// softmax of one runs under the products of the other. sm_90a alone.
//
// A block has three warpgroups. One thread of the first asks for tiles; the other two have 64
// queries each and take turns at the Tensor Cores. In its turn, a warpgroup starts the products of
// the next tile of K and of the last tile of V, and passes the turn on; while the other one's
// products run, it takes the softmax. So neither the Tensor Cores nor the exponentials wait.
#pragma once

#include <bulk_copy.hpp>
#include <cstddef>
#include <cstdint>
#include <dynamic_shared.hpp>
#include <register_quota.hpp>
#include <warp_mma.hpp>

#include "kernels/attention/groups.cuh"
#include "kernels/attention/rings.cuh"
#include "kernels/attention/softmax.cuh"

namespace attention {

namespace wgmma_parts {
using namespace rings;

inline constexpr unsigned warpgroup = 128, multiplying_groups = 2, group_warps = 4;
inline constexpr unsigned group_queries = queries / multiplying_groups, keys = 128, stages = 2;
inline constexpr unsigned threads = (1 + multiplying_groups) * warpgroup;
static_assert(tile_rows == queries && tile_rows == keys);
template <unsigned head_dim>
constexpr unsigned stored_bytes = 16 * head_dim * sizeof(element);  // of a warp, on the way out

// What the warpgroups pass to each other, in shared memory.
template <unsigned head_dim>
struct Pipeline {
  static constexpr unsigned rings = 1 + 2 * stages,
                            all_stored = multiplying_groups * group_warps * stored_bytes<head_dim>;
  static constexpr unsigned bytes = pattern_bytes + rings * tile_bytes<head_dim> + all_stored +
                                    (2 * rings + multiplying_groups) * sizeof(Mbarrier);
  Ring<head_dim, 1> q;
  Ring<head_dim, stages> k, v;
  unsigned char* stored;
  Mbarrier* turns;  // of each multiplying warpgroup

  __device__ explicit Pipeline(unsigned char* shared) {
    q.tiles = aligned(shared);
    k.tiles = q.tiles + q.tiles_bytes;
    v.tiles = k.tiles + k.tiles_bytes;
    stored = v.tiles + v.tiles_bytes;
    q.brought = reinterpret_cast<Mbarrier*>(stored + all_stored);
    q.done_with = q.brought + 1;
    k.brought = q.done_with + 1;
    k.done_with = k.brought + stages;
    v.brought = k.done_with + stages;
    v.done_with = v.brought + stages;
    turns = v.done_with + stages;
  }
  __device__ void init() const {
    constexpr unsigned readers = multiplying_groups * group_warps;
    q.init(readers);
    k.init(readers);
    v.init(readers);
    for (unsigned group = 0; group < multiplying_groups; ++group) {
      mbarrier_init(&turns[group], group_warps);
    }
  }
};

// One thread asks for the tiles in the order in which they are multiplied.
template <unsigned head_dim>
__device__ __forceinline__ void bring_tiles(const Pipeline<head_dim>& at, const Maps& from,
                                            const Work& work, unsigned group) {
  const unsigned head = blockIdx.y * work.seq, kv_head = blockIdx.y / group * work.seq;
  unsigned n = 0;  // of tiles of K and of V
  for (unsigned i = 0; i < work.groups; ++i) {
    const unsigned first = work.first_query(i), tiles = work.keys_seen(first) / keys;
    at.q.bring(i, from.q, head + first);
    at.k.bring(n, from.k, kv_head);
    for (unsigned t = 1; t < tiles; ++t) {
      at.k.bring(n + t, from.k, kv_head + t * keys);
      at.v.bring(n + t - 1, from.v, kv_head + (t - 1) * keys);
    }
    at.v.bring(n + tiles - 1, from.v, kv_head + (tiles - 1) * keys);
    n += tiles;
  }
}

// The two warpgroups' turns at the Tensor Cores; the first begins.
class Turns {
 public:
  __device__ Turns(Mbarrier* turns, unsigned group)
      : mine_(turns + group), others_(turns + 1 - group), taken_(1 - group) {}
  __device__ void take() { mbarrier_wait(mine_, taken_++ % 2); }
  __device__ void pass_on() const {
    if (threadIdx.x % warp == 0) mbarrier_arrive(others_);
  }

 private:
  Mbarrier *mine_, *others_;
  unsigned taken_;  // and of the first warpgroup one more, which nobody had to pass on
};

// A warpgroup's 64 queries by 128 keys, and by head_dim elements: 16 rows per warp.
using Scores = float[keys / 8][4];
using Weights = unsigned[keys / 16][4];  // pairs of bf16, as wgmma takes them from registers
template <unsigned head_dim>
using Results = float[head_dim / 8][4];

// scores = Q K^T
template <unsigned head_dim>
__device__ __forceinline__ void multiply_keys(Scores& scores, const unsigned char* q,
                                              const unsigned char* k) {
#pragma unroll
  for (unsigned d = 0; d < head_dim; d += 16) {
    const unsigned panel = d / panel_elements * panel_bytes, on = d % panel_elements / 8;
    wgmma_m64n128k16_bf16(scores, rows_at(q + panel) + on, rows_at(k + panel) + on, d > 0);
  }
}

// results += weights V
template <unsigned head_dim>
__device__ __forceinline__ void multiply_values(Results<head_dim>& results, const Weights& weights,
                                                const unsigned char* v) {
#pragma unroll
  for (unsigned n = 0; n < keys / 16; ++n) {
    wgmma_m64k16_bf16_transposed(results, weights[n],
                                 transposed_rows_at(v + 16 * n * row_bytes, panel_bytes));
  }
}

// Where a product left a row's weights is where the next one wants them.
__device__ __forceinline__ void pack(Weights& weights, const Scores& scores) {
#pragma unroll
  for (unsigned n = 0; n < keys / 16; ++n) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const float* const two = &scores[2 * n + i / 2][i % 2 * 2];
      weights[n][i] = packed(two[0], two[1]);
    }
  }
}

// What a warpgroup does for its 64 of a group of queries. `i`: the so many-th group of the block;
// `n`: the tiles of K and V before it. `out`: the warp's first row.
template <unsigned head_dim>
__device__ __forceinline__ void attend(const Pipeline<head_dim>& at, Turns& turns, const Work& work,
                                       unsigned i, unsigned n, element* out, float scale) {
  const unsigned warp_of_all = threadIdx.x / warp - group_warps;
  const unsigned first = work.first_query(i), tiles = work.keys_seen(first) / keys;
  const unsigned first_of_warp = first + 16 * warp_of_all;
  const unsigned char* const q =
      at.q.wait_for(i) + warp_of_all / group_warps * group_queries * row_bytes;
  Scores scores;
  Weights weights;
  Results<head_dim> results = {};
  float maximum[2] = {-INFINITY, -INFINITY}, sum[2] = {}, kept[2];
  const auto weigh = [&](unsigned t) {
    at.k.release(n + t);
    // In a causal group, only the last tile has keys after some query.
    if (work.causal && t + 1 == tiles) mask(scores, first_of_warp, t * keys, work.seq, true);
    weigh_rows(scores, maximum, sum, kept, scale);
  };

  const unsigned char* k = at.k.wait_for(n);
  turns.take();
  wgmma_begin(scores);
  multiply_keys<head_dim>(scores, q, k);
  wgmma_commit();
  turns.pass_on();
  wgmma_wait_for<0>(scores);
  weigh(0);
  pack(weights, scores);
#pragma unroll 1
  for (unsigned t = 1; t < tiles; ++t) {
    k = at.k.wait_for(n + t);
    const unsigned char* const v = at.v.wait_for(n + t - 1);
    turns.take();
    wgmma_begin(scores, results, weights);
    multiply_keys<head_dim>(scores, q, k);
    multiply_values<head_dim>(results, weights, v);
    wgmma_commit();
    turns.pass_on();
    wgmma_wait_for<0>(scores, results, weights);
    at.v.release(n + t - 1);
    weigh(t);
    if (moved(kept)) scale_rows(results, kept);
    pack(weights, scores);
  }
  at.q.release(i);
  const unsigned char* const v = at.v.wait_for(n + tiles - 1);
  turns.take();
  wgmma_begin(results, weights);
  multiply_values<head_dim>(results, weights, v);
  wgmma_commit();
  turns.pass_on();
  wgmma_wait_for<0>(results, weights);
  at.v.release(n + tiles - 1);
  scale_rows(results, {share_of_weight(sum[0]), share_of_weight(sum[1])});
  store_rows<head_dim>(out + std::size_t{first_of_warp} * head_dim, head_dim, &results[0][0],
                       at.stored + warp_of_all * stored_bytes<head_dim>);
}
}  // namespace wgmma_parts

// grid: (blocks_of(seq, causal), heads of the batch); seq: a multiple of 128. of_q, of_k, of_v:
// boxes of 128 rows (harness/cuda/tensor_map.hpp) of matrices that have the heads one below the
// other; `group` heads of Q share one of K and V.
template <unsigned head_dim>
__global__ void __launch_bounds__(wgmma_parts::threads, 1)
    wgmma(const __grid_constant__ CUtensorMap of_q, const __grid_constant__ CUtensorMap of_k,
          const __grid_constant__ CUtensorMap of_v, bf16_rows::element* out, unsigned seq,
          unsigned group, float scale, bool causal) {
  using namespace wgmma_parts;
  const Pipeline<head_dim> at(static_cast<unsigned char*>(dynamic_shared()));
  const Work work(seq, causal);
  if (threadIdx.x == 0) at.init();
  __syncthreads();
  if (threadIdx.x < warpgroup) {
    give_registers_back<40>();
    if (threadIdx.x == 0) bring_tiles(at, {&of_q, &of_k, &of_v}, work, group);
    return;
  }
  take_registers<232>();
  out += blockIdx.y * std::size_t{seq} * head_dim;
  Turns turns(at.turns, threadIdx.x / warpgroup - 1);
  unsigned n = 0;
#pragma unroll 1
  for (unsigned i = 0; i < work.groups; ++i) {
    attend(at, turns, work, i, n, out, scale);
    n += work.keys_seen(work.first_query(i)) / keys;
  }
}

}  // namespace attention
