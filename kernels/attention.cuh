// attention: softmax(Q K^T / sqrt(head_dim)) V of many heads, with and without the score matrix in
// memory.
//
// Q, K, V and the result lie head after head, [heads of the batch][seq][head_dim], in bf16; sums
// and exponentials are in fp32. In grouped-query attention, K and V have fewer heads, each for
// several heads of Q. The standard way writes the scores of a head, seq x seq of them, by
// one multiplication, turns them into weights by a kernel (`softmax`), and multiplies again. The
// tiled way (Dao, "FlashAttention-2", arXiv 2307.08691) never has them in memory: a block keeps the
// results of 128 queries in registers, goes through the keys 64 at a time, and scales down what it
// has whenever a larger score turns up (the online softmax of Milakov and Gimelshein). On Hopper,
// `wgmma` does the same with what came after mma.sync and cp.async (kernels/attention/wgmma.cuh);
// on Blackwell's data-centre parts, `tcgen05` (kernels/attention/tcgen05.cuh).
#pragma once

#include <cuda_bf16.h>
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

#include "dynamic_shared.hpp"
#include "fast_exp2.hpp"
#include "kernels/attention/expected.cuh"
#include "kernels/attention/fragments.cuh"
#include "kernels/attention/groups.cuh"
#include "kernels/attention/softmax.cuh"
#include "kernels/attention/tcgen05.cuh"
#include "kernels/attention/wgmma.cuh"
#include "kernels/normalization.cuh"

namespace attention {

static_assert(sizeof(element) == element_bytes);
inline constexpr unsigned most_threads = normalization::most_threads;
// A block's queries, of which each of its four warps has 32: so a fragment of keys that a warp has
// read is multiplied twice. Keys have two tiles, one of K and one of V: while one is
// multiplied the other is on its way.
inline constexpr unsigned warp_queries = 32, keys = 64;
inline constexpr unsigned parts = warp_queries / 16, columns = keys / 8;

// Exponentials are powers of two: exp(x / sqrt(head_dim)) = 2^(x * scale).
inline float scale_of(unsigned head_dim) {
  constexpr double log2_e = 1.4426950408889634;
  return static_cast<float>(log2_e / std::sqrt(static_cast<double>(head_dim)));
}

template <unsigned head_dim>
constexpr std::size_t shared_bytes() {
  return std::size_t{queries + 2 * keys} * head_dim * sizeof(element);
}

// Divides by the sums, and writes: by way of the warp's own part of a tile, so that a lane stores
// 16 bytes.
template <unsigned head_dim>
__device__ inline void write(element* out, element* tile, Results<head_dim, parts>& results,
                             unsigned first_query, unsigned seq) {
  const unsigned lane = threadIdx.x % warp;
#pragma unroll
  for (unsigned p = 0; p < parts; ++p) {
#pragma unroll
    for (unsigned h = 0; h < 2; ++h) {
      const float share = share_of_weight(results.sum[p][h]);
#pragma unroll
      for (unsigned panel = 0; panel < results.panels; ++panel) {
#pragma unroll
        for (unsigned n = 0; n < panel_columns; ++n) {
          const float* const two = &results.of[p][panel][n][2 * h];
          element* const to =
              tile + place<head_dim>(16 * p + 8 * h + lane / 4, panel * panel_columns + n) +
              lane % 4 * 2;
          *reinterpret_cast<unsigned*>(to) = packed(two[0] * share, two[1] * share);
        }
      }
    }
  }
  __syncwarp();
  constexpr unsigned in_a_row = head_dim / chunk;
#pragma unroll
  for (unsigned i = 0; i < warp_queries * in_a_row / warp; ++i) {
    const unsigned at = i * warp + lane, row = at / in_a_row, c = at % in_a_row;
    if (first_query + row >= seq) continue;
    *reinterpret_cast<uint4*>(out + std::size_t{first_query + row} * head_dim + c * chunk) =
        *reinterpret_cast<const uint4*>(tile + place<head_dim>(row, c));
  }
}

// grid: (blocks_of(seq, causal), heads of the batch), of which `group` after each other share a
// head of keys and values.
template <unsigned head_dim>
__global__ void __launch_bounds__(threads, 2)
    tiled(const element* q, const element* k, const element* v, element* out, unsigned seq,
          unsigned group, float scale, bool causal) {
  auto* const tile_q = static_cast<element*>(dynamic_shared());
  element* const tile_k = tile_q + queries * head_dim;
  element* const tile_v = tile_k + keys * head_dim;
  const std::size_t of_head = std::size_t{seq} * head_dim, head = blockIdx.y * of_head,
                    kv_head = blockIdx.y / group * of_head;
  q += head, k += kv_head, v += kv_head, out += head;
  const Work work(seq, causal);
  const unsigned of_warp = threadIdx.x / warp * warp_queries;
  element* const warp_q = tile_q + of_warp * head_dim;
#pragma unroll 1
  for (unsigned i = 0; i < work.groups; ++i) {
    const unsigned first = work.first_query(i), first_of_warp = first + of_warp;
    const unsigned tiles = (work.keys_seen(first) + keys - 1) / keys;
    Results<head_dim, parts> results;
    clear(results);
    __syncthreads();  // nobody needs the group before any more
    fetch<head_dim, queries>(tile_q, q, first, seq);
    fetch<head_dim, keys>(tile_k, k, 0, seq);
    __pipeline_commit();
#pragma unroll 1
    for (unsigned t = 0; t < tiles; ++t) {
      const unsigned first_key = t * keys;
      // The last tiles of a causal block are of no use to its first warps.
      const bool needed = !causal || first_key < first_of_warp + warp_queries;
      __pipeline_wait_prior(0);
      __syncthreads();  // K is there, and nobody needs the last V any more
      fetch<head_dim, keys>(tile_v, v, first_key, seq);
      __pipeline_commit();
      Scores<parts, columns> scores;
      if (needed) multiply_keys<head_dim>(scores, warp_q, tile_k);
      __pipeline_wait_prior(0);
      __syncthreads();  // V is there, and nobody needs this K any more
      if (t + 1 < tiles) fetch<head_dim, keys>(tile_k, k, first_key + keys, seq);
      __pipeline_commit();
      if (!needed) continue;
      if (first_key + keys > seq || (causal && first_key + keys > first_of_warp + 1)) {
#pragma unroll
        for (unsigned p = 0; p < parts; ++p) {
          mask(scores[p], first_of_warp + 16 * p, first_key, seq, causal);
        }
      }
      weigh(scores, results, scale);
      multiply_values(results, scores, tile_v);
    }
    write(out, warp_q, results, first_of_warp, seq);
  }
}

// The share of whole groups' scores that is computed. A group's warps, of 32 queries, stop
// at their own diagonal: at g tiles of two, and 1, 1, 2 and 2 more.
inline double computed_share(std::size_t seq, bool causal) {
  return causal ? 0.5 + 0.25 / groups_of(seq) : 1;
}

// --- the standard way's own kernel: rows of scores become rows of weights, in place ---

// As normalization's `registers`: a row has blockDim.x threads, a block blockDim.y rows; `rows` in
// all, of `seq` scores each, a multiple of 8. A query that may look back only has not even to read
// what comes after it.
template <unsigned held>
__global__ void __launch_bounds__(most_threads)
    softmax(element* scores, unsigned seq, unsigned rows, float scale, bool causal) {
  using normalization::of_row;
  const normalization::Place at = normalization::place(seq / chunk, rows);
  const auto query = static_cast<unsigned>(at.row % seq);
  const unsigned seen = at.packs == 0 ? 0 : causal ? query + 1 : seq;
  element* const begin = scores + at.row * seq;
  const normalization::RowInRegisters<element, held> row(begin, (seen + chunk - 1) / chunk);
  float maximum = -INFINITY, sum = 0;
  row.each([&](const float(&x)[chunk], unsigned p) {
#pragma unroll
    for (unsigned i = 0; i < chunk; ++i) {
      if (p * chunk + i < seen) maximum = fmaxf(maximum, x[i]);
    }
  });
  const float base = of_row(maximum, normalization::Larger{}) * scale;
  row.each([&](const float(&x)[chunk], unsigned p) {
#pragma unroll
    for (unsigned i = 0; i < chunk; ++i) {
      if (p * chunk + i < seen) sum += fast_exp2(fmaf(x[i], scale, -base));
    }
  });
  const float share = 1 / of_row(sum, normalization::Plus{});
  row.each([&](const float(&x)[chunk], unsigned p) {
    float y[chunk];
#pragma unroll
    for (unsigned i = 0; i < chunk; ++i) {
      y[i] = p * chunk + i < seen ? fast_exp2(fmaf(x[i], scale, -base)) * share : 0;
    }
    store_pack(begin, p, Pack<element>::of(y));
  });
  for (unsigned p = (seen + chunk - 1) / chunk + threadIdx.x; p < at.packs; p += blockDim.x) {
    store_pack(begin, p, Pack<element>{});
  }
}

}  // namespace attention
