// Lab 10: out = softmax(scale q k^T) v. For each query, a row of q: its scores are scale times its
// products with all rows of k; its weights are the softmax of these; its row of out is the sum of
// the rows of v, each times its weight.
//
// There is no memory for the scores but registers and shared memory, and a sequence is as long as
// it likes. Block (x, y) has 128 threads, and the queries 128 x to 128 x + 127 of head y, as far as
// they exist. The heads lie one after the other, in each `seq` rows of 32 words. Write
// multiply-adds as fmaf(a, b, c).
#pragma once

#include <cuda_runtime.h>

#include <cmath>

constexpr unsigned threads = 128, head_dim = 32;

static __global__ void attention(const float* q, const float* k, const float* v, float* out,
                                 unsigned seq, float scale) {
  // TODO: a query a thread; tiles of k and v in shared memory; for every key, a score, a larger
  // maximum or not, and a row of v with its weight.
  (void)q, (void)k, (void)v, (void)out, (void)seq, (void)scale;
}
