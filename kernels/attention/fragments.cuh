// What a warp has of its queries: 16 at a time, in fragments of mma.sync, multiplied by tiles of
// keys and values in shared memory.
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <warp_mma.hpp>

#include "kernels/attention/softmax.cuh"
#include "kernels/common/bf16_rows.cuh"

namespace attention {

using bf16_rows::element, bf16_rows::packed;
inline constexpr unsigned chunk = sizeof(uint4) / sizeof(element);  // what a lane moves at once

// Where chunk `c` of row `row` of a tile stands. Eight rows that a warp reads at once have theirs
// in eight different groups of banks.
template <unsigned head_dim>
__device__ constexpr unsigned place(unsigned row, unsigned c) {
  return row * head_dim + (c ^ row % 8) * chunk;
}

inline constexpr unsigned threads = 128;  // of a block that brings tiles together
// Asks for `rows` rows from `first` on; those beyond the sequence are zeros.
template <unsigned head_dim, unsigned rows>
__device__ inline void fetch(element* tile, const element* from, unsigned first, unsigned seq) {
  constexpr unsigned in_a_row = head_dim / chunk, each = rows * in_a_row / threads;
#pragma unroll
  for (unsigned i = 0; i < each; ++i) {
    const unsigned at = i * threads + threadIdx.x, row = at / in_a_row, c = at % in_a_row;
    const bool exists = first + row < seq;
    const std::size_t source = exists ? std::size_t{first + row} * head_dim + c * chunk : 0;
    __pipeline_memcpy_async(tile + place<head_dim>(row, c), from + source, sizeof(uint4),
                            exists ? 0 : sizeof(uint4));
  }
}

// `parts` times 16 queries by 8 `columns` keys.
template <unsigned parts, unsigned columns>
using Scores = float[parts][columns][4];

// Results are made in panels of 64 elements.
inline constexpr unsigned panel_columns = 8;
template <unsigned head_dim, unsigned parts>
struct Results {
  static constexpr unsigned panels = head_dim / (8 * panel_columns);
  static_assert(panels * 8 * panel_columns == head_dim);
  float of[parts][panels][panel_columns][4];
  float maximum[parts][2], sum[parts][2];  // of the rows g and g + 8; of this lane's columns
};

template <unsigned head_dim, unsigned parts>
__device__ inline void clear(Results<head_dim, parts>& results) {
#pragma unroll
  for (unsigned p = 0; p < parts; ++p) {
#pragma unroll
    for (unsigned h = 0; h < 2; ++h) {
      results.maximum[p][h] = -INFINITY;
      results.sum[p][h] = 0;
    }
#pragma unroll
    for (unsigned panel = 0; panel < results.panels; ++panel) {
#pragma unroll
      for (unsigned n = 0; n < panel_columns; ++n) {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) results.of[p][panel][n][i] = 0;
      }
    }
  }
}

// scores = Q K^T, `q` being the warp's own rows.
template <unsigned head_dim, unsigned parts, unsigned columns>
__device__ inline void multiply_keys(Scores<parts, columns>& scores, const element* q,
                                     const element* k) {
  const unsigned lane = threadIdx.x % warp;
#pragma unroll
  for (unsigned p = 0; p < parts; ++p) {
#pragma unroll
    for (unsigned n = 0; n < columns; ++n) {
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) scores[p][n][i] = 0;
    }
  }
#pragma unroll
  for (unsigned d = 0; d < head_dim / chunk; d += 2) {
    unsigned of_q[parts][4], of_k[2 * columns];
#pragma unroll
    for (unsigned p = 0; p < parts; ++p) {
      ldmatrix(of_q[p], q + place<head_dim>(16 * p + lane % 16, d + lane / 16));
    }
#pragma unroll
    for (unsigned n = 0; n < columns; n += 2) {
      ldmatrix(&of_k[2 * n],
               k + place<head_dim>(8 * n + lane % 8 + lane / 16 * 8, d + lane / 8 % 2));
    }
#pragma unroll
    for (unsigned p = 0; p < parts; ++p) mma_m16n8k16_bf16(scores[p], of_q[p], of_k);
  }
}

// Scores become weights, and what results there are is scaled down if need be.
template <unsigned head_dim, unsigned parts, unsigned columns>
__device__ inline void weigh(Scores<parts, columns>& scores, Results<head_dim, parts>& results,
                             float scale) {
#pragma unroll
  for (unsigned p = 0; p < parts; ++p) {
    float kept[2];
    weigh_rows(scores[p], results.maximum[p], results.sum[p], kept, scale);
    if (!moved(kept)) continue;
#pragma unroll
    for (unsigned panel = 0; panel < results.panels; ++panel) {
      scale_rows(results.of[p][panel], kept);
    }
  }
}

// results += weights V. The weights are where a fragment of 16 keys has them: in the registers of
// two neighbouring fragments of scores.
template <unsigned head_dim, unsigned parts, unsigned columns>
__device__ inline void multiply_values(Results<head_dim, parts>& results,
                                       const Scores<parts, columns>& weights, const element* v) {
  const unsigned lane = threadIdx.x % warp;
#pragma unroll
  for (unsigned n = 0; n < columns; n += 2) {
    unsigned of_weights[parts][4];
#pragma unroll
    for (unsigned p = 0; p < parts; ++p) {
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const float* const two = &weights[p][n + i / 2][i % 2 * 2];
        of_weights[p][i] = packed(two[0], two[1]);
      }
    }
#pragma unroll
    for (unsigned panel = 0; panel < results.panels; ++panel) {
      unsigned of_v[2 * panel_columns];
#pragma unroll
      for (unsigned c = 0; c < panel_columns; c += 2) {
        ldmatrix_transposed(
            &of_v[2 * c],
            v + place<head_dim>(8 * n + lane % 16, panel * panel_columns + c + lane / 16));
      }
#pragma unroll
      for (unsigned p = 0; p < parts; ++p) {
        mma_m16n8k16_bf16(results.of[p][panel], of_weights[p], of_v);
      }
    }
  }
}

}  // namespace attention
