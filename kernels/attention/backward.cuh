// The gradients of attention, by mma.sync, as FlashAttention-2 has them (Dao, arXiv 2307.08691):
// scores are computed again, tile by tile, from what the forward pass has kept of a query, the
// logarithm of the sum of its weights.
//
// With S = Q K^T and weights P: dV = P^T dO; dP = dO V^T; dS = P (dP - D), where D is the product
// of a query's dO and its result; dQ = dS K, and dK = dS^T Q, both over sqrt(head_dim). A block has
// 64 keys and goes through the queries, for dK and dV; blocks of a second kernel have 64 queries
// and go through the keys, for dQ. So nobody adds to what another block has written, at the price
// of two products that are made twice. Either kernel multiplies rows of its own by tiles of the
// others, S^T or S, so that fragments stay in registers.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <dynamic_shared.hpp>

#include "fast_exp2.hpp"
#include "kernels/attention/fragments.cuh"

namespace attention::backward {

inline constexpr unsigned own_rows = 64, tile_rows = 32, columns = tile_rows / 8, stages = 2;

constexpr unsigned blocks_of(std::size_t seq) {
  return static_cast<unsigned>((seq + own_rows - 1) / own_rows);
}
template <unsigned head_dim>
constexpr std::size_t shared_bytes() {
  return std::size_t{2} * (own_rows + stages * tile_rows) * head_dim * sizeof(element);
}

// What belongs to a query: the binary logarithm of the sum of its weights, and D.
struct QuerySums {
  const float *log_sums, *products;
};

// One weight, 0 where a query does not see a key, and by how much its score is to change.
__device__ inline void differentiate(float& score, float& change, bool seen, float scale,
                                     float log_sum, float product) {
  const float weight = seen ? fast_exp2(fmaf(score, scale, -log_sum)) : 0;
  score = weight;
  change = weight * (change - product);
}

// What a block has of its own and what it goes through: 64 rows of two matrices, and tiles of two
// others. use(first, tile_a, tile_b): a tile's first row.
template <unsigned head_dim, class Use>
__device__ inline void go_through(element* own, element* tiles, const element* own_a,
                                  const element* own_b, const element* a, const element* b,
                                  unsigned first_own, unsigned begin, unsigned end, unsigned seq,
                                  const Use& use) {
  constexpr unsigned tile = tile_rows * head_dim;
  const auto fetch_tile = [&](unsigned first) {
    element* const to = tiles + (first - begin) / tile_rows % stages * 2 * tile;
    fetch<head_dim, tile_rows>(to, a, first, seq);
    fetch<head_dim, tile_rows>(to + tile, b, first, seq);
  };
  fetch<head_dim, own_rows>(own, own_a, first_own, seq);
  fetch<head_dim, own_rows>(own + own_rows * head_dim, own_b, first_own, seq);
  fetch_tile(begin);
  __pipeline_commit();
#pragma unroll 1
  for (unsigned first = begin; first < end; first += tile_rows) {
    if (first + tile_rows < end) fetch_tile(first + tile_rows);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();  // this tile is there
    const element* const at = tiles + (first - begin) / tile_rows % stages * 2 * tile;
    use(first, at, at + tile);
    __syncthreads();  // nobody needs it any more
  }
}

// 16 rows of a gradient, times `factor`.
template <unsigned head_dim>
__device__ inline void store(element* to, const Results<head_dim, 1>& gradient, float factor,
                             unsigned first_row, unsigned seq) {
  const unsigned lane = threadIdx.x % warp;
#pragma unroll
  for (unsigned h = 0; h < 2; ++h) {
    const unsigned row = first_row + lane / 4 + 8 * h;
    if (row >= seq) continue;
#pragma unroll
    for (unsigned panel = 0; panel < gradient.panels; ++panel) {
#pragma unroll
      for (unsigned n = 0; n < panel_columns; ++n) {
        const float* const two = &gradient.of[0][panel][n][2 * h];
        const unsigned column = (panel * panel_columns + n) * 8 + lane % 4 * 2;
        *reinterpret_cast<unsigned*>(to + std::size_t{row} * head_dim + column) =
            packed(two[0] * factor, two[1] * factor);
      }
    }
  }
}

// All matrices: [heads of the batch][seq][head_dim]; sums: [heads of the batch][seq].
// grid: (blocks_of(seq), heads of the batch). `scale`: scale_of(head_dim); `root`: one over the
// square root of head_dim.
template <unsigned head_dim>
__global__ void __launch_bounds__(threads)
    keys_and_values(const element* q, const element* k, const element* v, const element* d_out,
                    QuerySums sums, element* d_k, element* d_v, unsigned seq, float scale,
                    float root, bool causal) {
  auto* const own = static_cast<element*>(dynamic_shared());
  const std::size_t head = blockIdx.y * std::size_t{seq} * head_dim;
  const float* const log_sums = sums.log_sums + std::size_t{blockIdx.y} * seq;
  const float* const products = sums.products + std::size_t{blockIdx.y} * seq;
  const unsigned first_key = blockIdx.x * own_rows, of_warp = threadIdx.x / warp * 16;
  const unsigned lane = threadIdx.x % warp;
  Results<head_dim, 1> of_k, of_v;
  clear(of_k);
  clear(of_v);
  go_through<head_dim>(own, own + 2 * own_rows * head_dim, k + head, v + head, q + head,
                       d_out + head, first_key, causal ? first_key : 0, seq, seq,
                       [&](unsigned first, const element* tile_q, const element* tile_d) {
                         Scores<1, columns> weights, changes;
                         multiply_keys<head_dim>(weights, own + of_warp * head_dim, tile_q);
                         multiply_keys<head_dim>(changes, own + (own_rows + of_warp) * head_dim,
                                                 tile_d);
#pragma unroll
                         for (unsigned n = 0; n < columns; ++n) {
#pragma unroll
                           for (unsigned j = 0; j < 2; ++j) {
                             const unsigned query = first + 8 * n + lane % 4 * 2 + j;
                             const bool exists = query < seq;
                             const float log_sum = exists ? log_sums[query] : 0,
                                         product = exists ? products[query] : 0;
#pragma unroll
                             for (unsigned h = 0; h < 2; ++h) {
                               const unsigned key = first_key + of_warp + lane / 4 + 8 * h;
                               differentiate(weights[0][n][2 * h + j], changes[0][n][2 * h + j],
                                             exists && key < seq && (!causal || key <= query),
                                             scale, log_sum, product);
                             }
                           }
                         }
                         multiply_values(of_v, weights, tile_d);
                         multiply_values(of_k, changes, tile_q);
                       });
  store(d_k + head, of_k, root, first_key + of_warp, seq);
  store(d_v + head, of_v, 1, first_key + of_warp, seq);
}

// The same grid.
template <unsigned head_dim>
__global__ void __launch_bounds__(threads)
    queries(const element* q, const element* k, const element* v, const element* d_out,
            QuerySums sums, element* d_q, unsigned seq, float scale, float root, bool causal) {
  auto* const own = static_cast<element*>(dynamic_shared());
  const std::size_t head = blockIdx.y * std::size_t{seq} * head_dim;
  const unsigned first_query = blockIdx.x * own_rows, of_warp = threadIdx.x / warp * 16;
  const unsigned lane = threadIdx.x % warp;
  float log_sum[2], product[2];
#pragma unroll
  for (unsigned h = 0; h < 2; ++h) {
    const unsigned query = first_query + of_warp + lane / 4 + 8 * h;
    const std::size_t at = std::size_t{blockIdx.y} * seq + query;
    log_sum[h] = query < seq ? sums.log_sums[at] : 0;
    product[h] = query < seq ? sums.products[at] : 0;
  }
  Results<head_dim, 1> of_q;
  clear(of_q);
  const unsigned end = causal && first_query + own_rows < seq ? first_query + own_rows : seq;
  go_through<head_dim>(
      own, own + 2 * own_rows * head_dim, q + head, d_out + head, k + head, v + head, first_query,
      0, end, seq, [&](unsigned first, const element* tile_k, const element* tile_v) {
        Scores<1, columns> weights, changes;
        multiply_keys<head_dim>(weights, own + of_warp * head_dim, tile_k);
        multiply_keys<head_dim>(changes, own + (own_rows + of_warp) * head_dim, tile_v);
#pragma unroll
        for (unsigned n = 0; n < columns; ++n) {
#pragma unroll
          for (unsigned i = 0; i < 4; ++i) {
            const unsigned key = first + 8 * n + lane % 4 * 2 + i % 2;
            const unsigned query = first_query + of_warp + lane / 4 + i / 2 * 8;
            differentiate(weights[0][n][i], changes[0][n][i],
                          query < seq && key < seq && (!causal || key <= query), scale,
                          log_sum[i / 2], product[i / 2]);
          }
        }
        multiply_values(of_q, changes, tile_k);
      });
  store(d_q + head, of_q, root, first_query + of_warp, seq);
}

// D, the product of a row's result and its gradient: a warp has 16 rows. The same grid.
template <unsigned head_dim>
__global__ void __launch_bounds__(threads)
    row_products(const element* out, const element* d_out, float* products, unsigned seq) {
  constexpr unsigned each = head_dim / warp;
  const unsigned lane = threadIdx.x % warp;
  const unsigned first = blockIdx.x * own_rows + threadIdx.x / warp * 16;
#pragma unroll 4
  for (unsigned row = first; row < first + 16 && row < seq; ++row) {
    const std::size_t at = std::size_t{blockIdx.y} * seq + row;
    float sum = 0;
#pragma unroll
    for (unsigned i = 0; i < each; i += 2) {
      const std::size_t pair = at * head_dim + i * warp + 2 * lane;
      const float2 a = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(out + pair)[0]),
                   b = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(d_out + pair)[0]);
      sum = fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
    }
#pragma unroll
    for (unsigned offset = warp / 2; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (lane == 0) products[at] = sum;
  }
}

}  // namespace attention::backward
