// The online softmax of Milakov and Gimelshein, of 16 rows that a warp has in fragments: of every
// eight columns, a lane holds two neighbours of row g and two of row g + 8, g being its number / 4.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "fast_exp2.hpp"

namespace attention {

inline constexpr unsigned warp = 32;

// Scores of keys that there are not, or that come after the query, count for nothing.
template <unsigned columns>
__device__ inline void mask(float (&scores)[columns][4], unsigned first_query, unsigned first_key,
                            unsigned seq, bool causal) {
  const unsigned lane = threadIdx.x % warp;
#pragma unroll
  for (unsigned n = 0; n < columns; ++n) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned query = first_query + lane / 4 + i / 2 * 8;
      const unsigned key = first_key + 8 * n + lane % 4 * 2 + i % 2;
      if (key >= seq || (causal && key > query)) scores[n][i] = -INFINITY;
    }
  }
}

// The largest score of row g + 8 h, or `so_far` if that is larger.
template <unsigned columns>
__device__ inline float row_max(const float (&scores)[columns][4], unsigned h, float so_far) {
  float maximum = so_far;
#pragma unroll
  for (unsigned n = 0; n < columns; ++n) {
    maximum = fmaxf(maximum, fmaxf(scores[n][2 * h], scores[n][2 * h + 1]));
  }
  maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, 1));
  return fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, 2));
}

// Its scores become weights, 2^(score * scale - base), which are added to `sum`.
template <unsigned columns>
__device__ inline float row_exp2(float (&scores)[columns][4], unsigned h, float scale, float base,
                                 float sum) {
#pragma unroll
  for (unsigned n = 0; n < columns; ++n) {
#pragma unroll
    for (unsigned i = 2 * h; i < 2 * h + 2; ++i) {
      const float weight = fast_exp2(fmaf(scores[n][i], scale, -base));
      sum = __fadd_rn(sum, weight);
      scores[n][i] = weight;
    }
  }
  return sum;
}

template <unsigned columns>
__device__ inline void scale_rows(float (&results)[columns][4], const float (&by)[2]) {
#pragma unroll
  for (unsigned n = 0; n < columns; ++n) {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) results[n][i] *= by[i / 2];
  }
}

// Scores become weights, against the largest score so far. (There is one: the first key is never
// masked.) By `kept`, what came of smaller ones is to be scaled down.
template <unsigned columns>
__device__ inline void weigh_rows(float (&scores)[columns][4], float (&maximum)[2], float (&sum)[2],
                                  float (&kept)[2], float scale) {
#pragma unroll
  for (unsigned h = 0; h < 2; ++h) {
    const float largest = row_max(scores, h, maximum[h]);
    kept[h] = fast_exp2((maximum[h] - largest) * scale);
    maximum[h] = largest;
    sum[h] = row_exp2(scores, h, scale, largest * scale, sum[h] * kept[h]);
  }
}

// As a rule there is nothing to scale down: after the first tiles, maxima seldom move.
__device__ inline bool moved(const float (&kept)[2]) {
  return __any_sync(0xffffffffu, kept[0] != 1 || kept[1] != 1);
}

// What the weights of a row are to be divided by comes from four lanes.
__device__ inline float share_of_weight(float sum) {
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  return 1 / sum;
}

}  // namespace attention
