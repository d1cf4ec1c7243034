// Lab 11: a matrix multiplication on the Tensor Cores, whatever the dimensions: first with rows
// that begin anywhere, then with padded ones.
//
// d[m][n] = sum over k of a[m][k] * b[n][k]; a and b in bf16, row after row, d in float with rows
// of n. A block of 128 threads computes a tile of 32 x 32 elements of d; blockIdx.x counts tiles
// along n, blockIdx.y along m. Use
//
//   mma_m16n8k16_bf16(float (&d)[4], unsigned (&a)[4], unsigned (&b)[2], float (&c)[4])
//
// by which a warp computes d = a * b + c for 16 x 8 elements of d and 16 of k. With g = lane / 4
// and t = lane % 4, a lane brings
//
//   a[0..3]: two neighbours of a row, at rows g, g + 8, g, g + 8 and k = 2t, 2t, 2t + 8, 2t + 8
//   b[0..1]: two neighbours of row g of b, at k = 2t, 2t + 8
//   c, d:    at rows g, g, g + 8, g + 8 and columns 2t, 2t + 1, 2t, 2t + 1
//
// of two neighbours the one of lower k in the lower half of the word.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <warp_mma.hpp>

// Rows of padded matrices have as many elements as the next multiple of this: yours to choose.
constexpr unsigned row_multiple = 1;

// Rows of a and b have k elements, and begin wherever the one before has ended.
static __global__ void multiply_ragged(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d,
                                       unsigned m, unsigned n, unsigned k) {
  // TODO: bring 32 of k at a time into shared memory, element by element; what is beyond the end of
  // a row, or of the matrix, is zero.
  (void)a, (void)b, (void)d, (void)m, (void)n, (void)k;
}

// Block r, of 128 threads, makes row r of `to`: `stride` elements, of which the first `columns` are
// those of row r of `from`, if that has more than r `rows`; all else is zero.
static __global__ void pad(const __nv_bfloat16* from, __nv_bfloat16* to, unsigned rows,
                           unsigned columns, unsigned stride) {
  // TODO
  (void)from, (void)to, (void)rows, (void)columns, (void)stride;
}

// As multiply_ragged, of padded copies: their rows have `stride` elements, and there are as many as
// whole tiles need.
static __global__ void multiply_padded(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d,
                                       unsigned m, unsigned n, unsigned stride) {
  // TODO: nothing of a and b has to be asked for any more, and a lane can bring 16 bytes at once.
  (void)a, (void)b, (void)d, (void)m, (void)n, (void)stride;
}
