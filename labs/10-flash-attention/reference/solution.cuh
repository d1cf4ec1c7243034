// A query a thread. Its row of the result is kept in registers, and is scaled down whenever a
// larger score comes; keys and values come by tiles that all queries of the block share.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr unsigned threads = 128, head_dim = 32, keys = 32;
constexpr unsigned words = keys * head_dim / threads;  // of a tile, a thread

// Rows of q and out pass through shared memory, so that neighbouring lanes read neighbours.
using Rows = float[threads][head_dim + 1];
using Tile = float[keys * head_dim];

// `from`: the first of the block's queries.
__device__ __forceinline__ void load_query(float (&query)[head_dim], Rows& rows, const float* from,
                                           unsigned queries, float scale) {
  for (unsigned d = 0; d < head_dim; ++d) {
    const unsigned i = d * threads + threadIdx.x;
    query[d] = i < queries * head_dim ? scale * from[i] : 0;
  }
  for (unsigned d = 0; d < head_dim; ++d) {
    const unsigned i = d * threads + threadIdx.x;
    rows[i / head_dim][i % head_dim] = query[d];
  }
  __syncthreads();
  for (unsigned d = 0; d < head_dim; ++d) query[d] = rows[threadIdx.x][d];
}

// `here` rows of either, the others zeros.
__device__ __forceinline__ void load_tiles(Tile& of_k, Tile& of_v, const float* k, const float* v,
                                           unsigned here) {
  float next_k[words] = {}, next_v[words] = {};  // all loads are under way before one is awaited
  for (unsigned w = 0; w < words; ++w) {
    const unsigned i = w * threads + threadIdx.x;
    if (i < here * head_dim) next_k[w] = k[i];
    if (i < here * head_dim) next_v[w] = v[i];
  }
  for (unsigned w = 0; w < words; ++w) {
    of_k[w * threads + threadIdx.x] = next_k[w];
    of_v[w * threads + threadIdx.x] = next_v[w];
  }
}

__device__ __forceinline__ float dot(const float (&query)[head_dim], const float* key) {
  const float4* const row = reinterpret_cast<const float4*>(key);
  float score = 0;
  for (unsigned d = 0; d < head_dim; d += 4) {
    const float4 part = row[d / 4];
    score = fmaf(query[d], part.x, score);
    score = fmaf(query[d + 1], part.y, score);
    score = fmaf(query[d + 2], part.z, score);
    score = fmaf(query[d + 3], part.w, score);
  }
  return score;
}

// result += weight * value
__device__ __forceinline__ void add(float (&result)[head_dim], float weight, const float* value) {
  const float4* const row = reinterpret_cast<const float4*>(value);
  for (unsigned d = 0; d < head_dim; d += 4) {
    const float4 part = row[d / 4];
    result[d] = fmaf(weight, part.x, result[d]);
    result[d + 1] = fmaf(weight, part.y, result[d + 1]);
    result[d + 2] = fmaf(weight, part.z, result[d + 2]);
    result[d + 3] = fmaf(weight, part.w, result[d + 3]);
  }
}

static __global__ void attention(const float* q, const float* k, const float* v, float* out,
                                 unsigned seq, float scale) {
  __shared__ __align__(16) Tile of_k, of_v;
  __shared__ Rows rows;
  const std::size_t head = static_cast<std::size_t>(blockIdx.y) * seq * head_dim;
  const unsigned first = blockIdx.x * threads;
  const unsigned queries = min(threads, seq - first);
  float query[head_dim], result[head_dim] = {}, largest = -INFINITY, sum = 0;
  load_query(query, rows, q + head + first * head_dim, queries, scale);

  for (unsigned from = 0; from < seq; from += keys) {
    const unsigned here = min(keys, seq - from);
    const std::size_t tile = head + from * head_dim;
    load_tiles(of_k, of_v, k + tile, v + tile, here);
    __syncthreads();
    // All of a tile, and unrolled: an index that only the run knows would put the scores in memory.
    float scores[keys], of_tile = largest;
#pragma unroll
    for (unsigned key = 0; key < keys; ++key) {
      const float score = dot(query, of_k + key * head_dim);
      scores[key] = key < here ? score : -INFINITY;  // no key: no weight
      of_tile = fmaxf(of_tile, scores[key]);
    }
    const float kept = expf(largest - of_tile);
    largest = of_tile;
    sum *= kept;
    for (unsigned d = 0; d < head_dim; ++d) result[d] *= kept;
#pragma unroll
    for (unsigned key = 0; key < keys; ++key) {
      const float weight = expf(scores[key] - largest);
      sum += weight;
      add(result, weight, of_v + key * head_dim);
    }
    __syncthreads();
  }

  for (unsigned d = 0; d < head_dim; ++d) rows[threadIdx.x][d] = result[d] / sum;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < queries * head_dim; i += threads) {
    out[head + first * head_dim + i] = rows[i / head_dim][i % head_dim];
  }
}
