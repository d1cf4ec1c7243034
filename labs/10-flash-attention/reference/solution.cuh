// A query a thread. Its row of the result is kept in registers, and is scaled down whenever a
// larger score comes; keys and values come by tiles that all queries of the block share.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr unsigned threads = 128, head_dim = 32, keys = 32;

static __global__ void attention(const float* q, const float* k, const float* v, float* out,
                                 unsigned seq, float scale) {
  __shared__ __align__(16) float of_k[keys * head_dim], of_v[keys * head_dim];
  __shared__ float rows[threads][head_dim + 1];
  const std::size_t head = static_cast<std::size_t>(blockIdx.y) * seq * head_dim;
  const unsigned first = blockIdx.x * threads, me = threadIdx.x;
  const unsigned queries = min(threads, seq - first);

  // Rows of q and out pass through shared memory, so that neighbouring lanes read neighbours.
  for (unsigned i = me; i < queries * head_dim; i += threads) {
    rows[i / head_dim][i % head_dim] = scale * q[head + first * head_dim + i];
  }
  __syncthreads();
  float query[head_dim] = {}, result[head_dim] = {}, largest = -INFINITY, sum = 0;
  for (unsigned d = 0; d < head_dim && me < queries; ++d) query[d] = rows[me][d];

  for (unsigned from = 0; from < seq; from += keys) {
    const unsigned here = min(keys, seq - from);
    for (unsigned i = me; i < here * head_dim; i += threads) {
      of_k[i] = k[head + from * head_dim + i];
      of_v[i] = v[head + from * head_dim + i];
    }
    __syncthreads();
    float scores[keys], of_tile = largest;
    for (unsigned key = 0; key < here; ++key) {
      const float4* const row = reinterpret_cast<const float4*>(of_k + key * head_dim);
      float score = 0;
      for (unsigned d = 0; d < head_dim; d += 4) {
        const float4 part = row[d / 4];
        score = fmaf(query[d], part.x, score);
        score = fmaf(query[d + 1], part.y, score);
        score = fmaf(query[d + 2], part.z, score);
        score = fmaf(query[d + 3], part.w, score);
      }
      scores[key] = score;
      of_tile = fmaxf(of_tile, score);
    }
    const float kept = expf(largest - of_tile);
    largest = of_tile;
    sum *= kept;
    for (unsigned d = 0; d < head_dim; ++d) result[d] *= kept;
    for (unsigned key = 0; key < here; ++key) {
      const float weight = expf(scores[key] - largest);
      const float4* const row = reinterpret_cast<const float4*>(of_v + key * head_dim);
      sum += weight;
      for (unsigned d = 0; d < head_dim; d += 4) {
        const float4 part = row[d / 4];
        result[d] = fmaf(weight, part.x, result[d]);
        result[d + 1] = fmaf(weight, part.y, result[d + 1]);
        result[d + 2] = fmaf(weight, part.z, result[d + 2]);
        result[d + 3] = fmaf(weight, part.w, result[d + 3]);
      }
    }
    __syncthreads();
  }

  for (unsigned d = 0; d < head_dim && me < queries; ++d) rows[me][d] = result[d] / sum;
  __syncthreads();
  for (unsigned i = me; i < queries * head_dim; i += threads) {
    out[head + first * head_dim + i] = rows[i / head_dim][i % head_dim];
  }
}
