// Decoding: one query per sequence, against the keys and values of all tokens before it.
//
// Every key and every value is needed once, so memory sets the pace as long as enough of them are
// on their way. Three ideas serve that. Query heads that share a key-value head ("grouped") are the
// rows of one fragment, so that they share what was read. The keys of a sequence are split over
// blocks (flash-decoding), since a few sequences alone would not fill the GPU. And the warps of a
// block each take tiles of their own, by cp.async and without a barrier. Warps, and then splits,
// leave results with the logarithm of their weights' sum, by which they are merged.
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <dynamic_shared.hpp>

#include "fast_exp2.hpp"
#include "kernels/attention/cache.cuh"
#include "kernels/attention/fragments.cuh"

namespace attention::decoding {

inline constexpr unsigned warps = 4, threads = warps * warp, stages = 2;
inline constexpr unsigned tile_keys = 16, columns = tile_keys / 8;
inline constexpr unsigned pair_elements = 2 * tile_keys * head_dim;  // a tile of K and one of V
// Rows of fp32 that fragments leave: eight of them, two words per lane, are in all banks.
inline constexpr unsigned left_pitch = head_dim + 8;

constexpr unsigned parts_of(unsigned group) { return (group + 15) / 16; }
// Queries, the warps' tiles, and when these are done with, what the warps leave.
constexpr std::size_t shared_bytes(unsigned parts) {
  const std::size_t tiles = std::size_t{warps} * stages * pair_elements * sizeof(element),
                    left = std::size_t{warps} * 16 * parts * (left_pitch + 1) * sizeof(float);
  return 16 * parts * head_dim * sizeof(element) + (tiles > left ? tiles : left);
}

// --- merging ---

// Four results of a row, and the binary logarithm of the sum of their weights.
struct Part {
  float4 results;
  float log_sum;
};

// `count` parts of the keys become one; log_sum(i) and results_of(i) are the i-th's. One without
// keys has 0 as results and -infinity as logarithm.
template <class LogSum, class ResultsOf>
__device__ inline Part merge(unsigned count, const LogSum& log_sum, const ResultsOf& results_of) {
  float largest = -INFINITY, sum = 0;
#pragma unroll 4
  for (unsigned i = 0; i < count; ++i) largest = fmaxf(largest, log_sum(i));
  float4 merged = {0, 0, 0, 0};
#pragma unroll 4
  for (unsigned i = 0; i < count; ++i) {
    const float weight = fast_exp2(log_sum(i) - largest);
    const float4 of = results_of(i);
    sum += weight;
    merged.x = fmaf(weight, of.x, merged.x);
    merged.y = fmaf(weight, of.y, merged.y);
    merged.z = fmaf(weight, of.z, merged.z);
    merged.w = fmaf(weight, of.w, merged.w);
  }
  const float share = 1 / sum;
  return {{merged.x * share, merged.y * share, merged.z * share, merged.w * share},
          largest + __log2f(sum)};
}

__device__ inline void store_row(element* row, const float4& results) {
  const uint2 four{packed(results.x, results.y), packed(results.z, results.w)};
  reinterpret_cast<uint2*>(row)[threadIdx.x % warp] = four;
}

// --- tiles ---

// Asks for 16 rows of K and as many of V; those beyond the context are zeros.
__device__ inline void fetch(element* tile, const element* k, const element* v, unsigned rows) {
  constexpr unsigned in_a_row = head_dim / chunk;
  const unsigned lane = threadIdx.x % warp;
#pragma unroll
  for (unsigned i = 0; i < tile_keys * in_a_row / warp; ++i) {
    const unsigned at = i * warp + lane, row = at / in_a_row, c = at % in_a_row;
    const bool exists = row < rows;
    const unsigned from = exists ? row * head_dim + c * chunk : 0;
    const std::size_t zeros = exists ? 0 : sizeof(uint4);
    element* const to = tile + place<head_dim>(row, c);
    __pipeline_memcpy_async(to, k + from, sizeof(uint4), zeros);
    __pipeline_memcpy_async(to + tile_keys * head_dim, v + from, sizeof(uint4), zeros);
  }
}

// The queries of the block's group, side by side; the fragment's other rows are zeros.
template <unsigned parts>
__device__ inline void fetch_queries(element* tile, const element* q, unsigned group) {
  constexpr unsigned in_a_row = head_dim / chunk;
#pragma unroll
  for (unsigned i = 0; i < 16 * parts * in_a_row / threads; ++i) {
    const unsigned at = i * threads + threadIdx.x, row = at / in_a_row, c = at % in_a_row;
    const bool exists = row < group;
    __pipeline_memcpy_async(tile + place<head_dim>(row, c),
                            q + (exists ? row * head_dim + c * chunk : 0), sizeof(uint4),
                            exists ? 0 : sizeof(uint4));
  }
}

// Which tiles of 16 keys a warp takes: of those of its block's split, every fourth.
struct Turn {
  unsigned next, end;

  __device__ Turn(unsigned tiles, unsigned split, unsigned splits)
      : next(first_tile(tiles, split, splits) + threadIdx.x / warp),
        end(first_tile(tiles, split + 1, splits)) {}
};

// --- results ---

// A warp's results, divided by their weights' sum, in rows of fp32; and that sum's logarithm.
template <unsigned parts>
__device__ inline void leave(float* rows, float* log_sums, const Results<head_dim, parts>& results,
                             float scale, unsigned group) {
  const unsigned lane = threadIdx.x % warp;
#pragma unroll
  for (unsigned p = 0; p < parts; ++p) {
#pragma unroll
    for (unsigned h = 0; h < 2; ++h) {
      const unsigned row = 16 * p + 8 * h + lane / 4;
      const float share = share_of_weight(results.sum[p][h]);
      if (row >= group) continue;
      const bool has_keys = results.maximum[p][h] > -INFINITY;
      if (lane % 4 == 0) {
        log_sums[row] = has_keys ? results.maximum[p][h] * scale - __log2f(share) : -INFINITY;
      }
#pragma unroll
      for (unsigned panel = 0; panel < results.panels; ++panel) {
#pragma unroll
        for (unsigned n = 0; n < panel_columns; ++n) {
          const float* const two = &results.of[p][panel][n][2 * h];
          float* const to =
              rows + row * left_pitch + (panel * panel_columns + n) * 8 + lane % 4 * 2;
          *reinterpret_cast<float2*>(to) =
              has_keys ? float2{two[0] * share, two[1] * share} : float2{0, 0};
        }
      }
    }
  }
}

// A warp's tiles, `stages` of which are on their way at a time.
template <unsigned parts, class Cache>
__device__ inline void attend_tiles(Results<head_dim, parts>& results, const element* tile_q,
                                    element* tiles, const element* k, const element* v,
                                    const Cache& cache, const Turn& turn, float scale) {
  const auto stage_of = [&](unsigned t) {
    return tiles + (t - turn.next) / warps % stages * pair_elements;
  };
  const auto fetch_tile = [&](unsigned t, std::size_t row) {
    const std::size_t at = row * head_dim;
    fetch(stage_of(t), k + at, v + at, cache.context - t * tile_keys);
  };
#pragma unroll
  for (unsigned s = 0; s < stages; ++s) {
    const unsigned t = turn.next + s * warps;
    if (t < turn.end) fetch_tile(t, cache.row_of(blockIdx.z, blockIdx.y, t * tile_keys));
    __pipeline_commit();
  }
  __pipeline_wait_prior(stages - 1);
  __syncthreads();  // everybody's queries are there
#pragma unroll 1
  for (unsigned t = turn.next; t < turn.end; t += warps) {
    const unsigned later = t + stages * warps;
    // Looked up early: the next tile cannot be asked for before its page is known.
    const std::size_t row =
        later < turn.end ? cache.row_of(blockIdx.z, blockIdx.y, later * tile_keys) : 0;
    __pipeline_wait_prior(stages - 1);
    __syncwarp();
    Scores<parts, columns> scores;
    multiply_keys<head_dim>(scores, tile_q, stage_of(t));
    if ((t + 1) * tile_keys > cache.context) {
#pragma unroll
      for (unsigned p = 0; p < parts; ++p) mask(scores[p], 0, t * tile_keys, cache.context, false);
    }
    weigh(scores, results, scale);
    multiply_values(results, scores, stage_of(t) + tile_keys * head_dim);
    __syncwarp();  // nobody needs this tile any more
    if (later < turn.end) fetch_tile(later, row);
    __pipeline_commit();
  }
  __pipeline_wait_prior(0);
}

// What the block's warps have left becomes a result, or one of several splits. `first_row`: of the
// block's queries, of all.
template <unsigned parts>
__device__ inline void merge_warps(const float* left, const float* left_sums, element* out,
                                   float* of_splits, float* log_sums, unsigned group,
                                   std::size_t first_row) {
  const unsigned split = blockIdx.x, splits = gridDim.x, lane = threadIdx.x % warp;
  for (unsigned row = threadIdx.x / warp; row < group; row += warps) {
    float sums[warps];
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) sums[w] = left_sums[w * 16 * parts + row];
    const Part of_block = merge(
        warps, [&](unsigned w) { return sums[w]; },
        [&](unsigned w) {
          const float* const begin = left + (w * 16 * parts + row) * left_pitch;
          return reinterpret_cast<const float4*>(begin)[lane];
        });
    if (splits == 1) {
      store_row(out + (first_row + row) * head_dim, of_block.results);
      continue;
    }
    const std::size_t at = (first_row + row) * splits + split;
    reinterpret_cast<float4*>(of_splits + at * head_dim)[lane] = of_block.results;
    if (lane == 0) log_sums[at] = of_block.log_sum;
  }
}

// grid: (splits, key-value heads, sequences), no split without keys. q and out:
// [sequences][heads][head_dim]; k and v as `Cache` says. With several splits, their results go to
// `of_splits`, [sequences][heads][splits][head_dim], and `log_sums`.
template <unsigned parts, class Cache>
__global__ void __launch_bounds__(threads)
    attend(const element* q, const element* k, const element* v, Cache cache, element* out,
           float* of_splits, float* log_sums, unsigned group, float scale) {
  auto* const tile_q = static_cast<element*>(dynamic_shared());
  element* const tiles = tile_q + 16 * parts * head_dim;
  const unsigned my_warp = threadIdx.x / warp;
  const std::size_t first_row = (std::size_t{blockIdx.z} * gridDim.y + blockIdx.y) * group;
  const Turn turn((cache.context + tile_keys - 1) / tile_keys, blockIdx.x, gridDim.x);
  fetch_queries<parts>(tile_q, q + first_row * head_dim, group);
  Results<head_dim, parts> results;
  clear(results);
  attend_tiles(results, tile_q, tiles + my_warp * stages * pair_elements, k, v, cache, turn, scale);
  __syncthreads();  // nobody needs any tile any more
  auto* const left = reinterpret_cast<float*>(tiles);
  float* const left_sums = left + warps * 16 * parts * left_pitch;
  leave(left + my_warp * 16 * parts * left_pitch, left_sums + my_warp * 16 * parts, results, scale,
        group);
  __syncthreads();
  merge_warps<parts>(left, left_sums, out, of_splits, log_sums, group, first_row);
}

// The splits of each row become one. grid: rows of `out`. Each warp merges every eighth split.
inline constexpr unsigned combining_warps = 8, combining_threads = combining_warps * warp;
[[maybe_unused]] static __global__ void __launch_bounds__(combining_threads)
    combine(const float* of_splits, const float* log_sums, element* out, unsigned splits) {
  __shared__ float4 left[combining_warps][warp];
  __shared__ float left_sums[combining_warps];
  const unsigned lane = threadIdx.x % warp, my_warp = threadIdx.x / warp;
  const std::size_t first = std::size_t{blockIdx.x} * splits;
  const auto* const rows = reinterpret_cast<const float4*>(of_splits);
  const unsigned mine = (splits + combining_warps - 1 - my_warp) / combining_warps;
  const auto split = [&](unsigned i) { return first + my_warp + i * combining_warps; };
  if (mine > 0) {
    const Part of_warp = merge(
        mine, [&](unsigned i) { return log_sums[split(i)]; },
        [&](unsigned i) { return rows[split(i) * warp + lane]; });
    left[my_warp][lane] = of_warp.results;
    if (lane == 0) left_sums[my_warp] = of_warp.log_sum;
  }
  __syncthreads();
  if (my_warp > 0) return;
  const Part of_row = merge(
      splits < combining_warps ? splits : combining_warps, [&](unsigned w) { return left_sums[w]; },
      [&](unsigned w) { return left[w][lane]; });
  store_row(out + std::size_t{blockIdx.x} * head_dim, of_row.results);
}

}  // namespace attention::decoding
