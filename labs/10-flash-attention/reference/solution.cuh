// A query a thread. Its row of the result is kept in registers, and is scaled down whenever a
// larger score comes; keys and values come by tiles that all queries of the block share.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr unsigned threads = 128, head_dim = 32, keys = 32;
constexpr unsigned words = keys * head_dim / threads;  // of a tile, a thread

static __global__ void attention(const float* q, const float* k, const float* v, float* out,
                                 unsigned seq, float scale) {
  __shared__ __align__(16) float of_k[keys * head_dim], of_v[keys * head_dim];
  __shared__ float rows[threads][head_dim + 1];
  const std::size_t head = static_cast<std::size_t>(blockIdx.y) * seq * head_dim;
  const unsigned first = blockIdx.x * threads, me = threadIdx.x;
  const unsigned queries = min(threads, seq - first);

  // Rows of q and out pass through shared memory, so that neighbouring lanes read neighbours.
  float query[head_dim], result[head_dim] = {}, largest = -INFINITY, sum = 0;
  for (unsigned d = 0; d < head_dim; ++d) {
    const unsigned i = d * threads + me;
    query[d] = i < queries * head_dim ? scale * q[head + first * head_dim + i] : 0;
  }
  for (unsigned d = 0; d < head_dim; ++d) {
    const unsigned i = d * threads + me;
    rows[i / head_dim][i % head_dim] = query[d];
  }
  __syncthreads();
  for (unsigned d = 0; d < head_dim; ++d) query[d] = rows[me][d];

  for (unsigned from = 0; from < seq; from += keys) {
    const unsigned here = min(keys, seq - from);
    float next_k[words] = {}, next_v[words] = {};  // all loads are under way before one is awaited
    for (unsigned w = 0; w < words; ++w) {
      const unsigned i = w * threads + me;
      if (i < here * head_dim) next_k[w] = k[head + from * head_dim + i];
      if (i < here * head_dim) next_v[w] = v[head + from * head_dim + i];
    }
    for (unsigned w = 0; w < words; ++w) {
      of_k[w * threads + me] = next_k[w];
      of_v[w * threads + me] = next_v[w];
    }
    __syncthreads();
    // All of a tile, and unrolled: an index that only the run knows would put the scores in memory.
    float scores[keys], of_tile = largest;
#pragma unroll
    for (unsigned key = 0; key < keys; ++key) {
      const float4* const row = reinterpret_cast<const float4*>(of_k + key * head_dim);
      float score = 0;
      for (unsigned d = 0; d < head_dim; d += 4) {
        const float4 part = row[d / 4];
        score = fmaf(query[d], part.x, score);
        score = fmaf(query[d + 1], part.y, score);
        score = fmaf(query[d + 2], part.z, score);
        score = fmaf(query[d + 3], part.w, score);
      }
      if (key >= here) score = -INFINITY;  // no key: no weight
      scores[key] = score;
      of_tile = fmaxf(of_tile, score);
    }
    const float kept = expf(largest - of_tile);
    largest = of_tile;
    sum *= kept;
    for (unsigned d = 0; d < head_dim; ++d) result[d] *= kept;
#pragma unroll
    for (unsigned key = 0; key < keys; ++key) {
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

  for (unsigned d = 0; d < head_dim; ++d) rows[me][d] = result[d] / sum;
  __syncthreads();
  for (unsigned i = me; i < queries * head_dim; i += threads) {
    out[head + first * head_dim + i] = rows[i / head_dim][i % head_dim];
  }
}
