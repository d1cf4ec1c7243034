// gemm_batch: the weights of a layer times few tokens, by kernels of our own.
//
// Y[m][n] = sum over k of X[m][k] * W[n][k], for m tokens and n rows of k weights: a linear layer.
// Every weight is needed once per token, so what counts is that weights are read once, in whole
// lines, and enough of them at a time. A warp has `rows` rows; its lanes read 16 bytes of each side
// by side, keep a sum per row and token in registers, and add them up at the end by shuffles.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/gemm_batch/expected.cuh"
#include "kernels/gemm_batch/weights.cuh"

namespace gemm_batch {

inline constexpr unsigned warp = 32, warps = 8, threads = warps * warp;
inline constexpr unsigned rows = 2;                   // of a warp
inline constexpr unsigned block_rows = warps * rows;  // bf16 results of a block fill a sector

__host__ __device__ constexpr unsigned row_blocks(unsigned n) {
  return (n + block_rows - 1) / block_rows;
}

// The sums of a warp's rows, for `tokens` rows of `x`, `columns` at most. k is a multiple of what a
// format has together (of four bits: of a group). `before`: rows of `weights` before this layer's.
template <unsigned columns, class Weights>
__device__ void multiply_rows(const Weights& weights, std::size_t before,
                              const typename Weights::element* x, typename Weights::element* y,
                              Layer layer, unsigned tokens) {
  using element = typename Weights::element;
  const unsigned lane = threadIdx.x % warp;
  const unsigned first = (blockIdx.y * warps + threadIdx.x / warp) * rows;
  const unsigned packs = layer.k / Weights::together, last = layer.n - 1;
  const std::size_t row_of_x = layer.k * sizeof(element) / sizeof(uint4);
  constexpr unsigned at_once = Weights::at_once;
  float sums[columns][rows] = {};
  for (unsigned begin = lane; begin < packs; begin += warp * at_once) {
    typename Weights::Held held[at_once][rows];
#pragma unroll
    for (unsigned u = 0; u < at_once; ++u) {
      if (begin + u * warp >= packs) continue;
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) {
        const unsigned row = first + r < layer.n ? first + r : last;
        held[u][r] = weights.load(before + row, packs, begin + u * warp);
      }
    }
#pragma unroll
    for (unsigned u = 0; u < at_once; ++u) {
      const unsigned at = begin + u * warp;
      if (at >= packs) continue;
      typename Weights::Values values[rows];
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) values[r] = Weights::values(held[u][r]);
      Pack<element> activations[columns][Weights::activations];
#pragma unroll
      for (unsigned c = 0; c < columns; ++c) {
        const unsigned token = c < tokens ? c : tokens - 1;
#pragma unroll
        for (unsigned j = 0; j < Weights::activations; ++j) {
          activations[c][j] = load_pack(x, token * row_of_x + Weights::place(at, j));
        }
      }
      Weights::add(sums, values, activations);
    }
  }
#pragma unroll
  for (unsigned c = 0; c < columns; ++c) {
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
      float sum = sums[c][r];
      for (unsigned offset = warp / 2; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
      }
      if (lane == 0 && c < tokens && first + r < layer.n) {
        y[std::size_t{c} * layer.n + first + r] = static_cast<element>(sum);
      }
    }
  }
}

// One layer, `columns` tokens.
template <class Weights, unsigned columns>
__global__ void __launch_bounds__(threads)
    gemv(Weights weights, const typename Weights::element* x, typename Weights::element* y,
         unsigned n, unsigned k) {
  multiply_rows<columns>(weights, 0, x, y, Layer{n, k}, columns);
}

// As many layers of the same shape as blocks along x, the experts of a mixture: that of blockIdx.x
// takes the tokens from first_token[blockIdx.x] up to the next expert's first, `columns` at a time.
template <class Weights, unsigned columns>
__global__ void __launch_bounds__(threads)
    grouped(Weights weights, const typename Weights::element* x, typename Weights::element* y,
            const unsigned* first_token, unsigned n, unsigned k) {
  const unsigned end = first_token[blockIdx.x + 1];
  for (unsigned token = first_token[blockIdx.x]; token < end; token += columns) {
    multiply_rows<columns>(weights, std::size_t{blockIdx.x} * n, x + std::size_t{token} * k,
                           y + std::size_t{token} * n, Layer{n, k},
                           end - token < columns ? end - token : columns);
  }
}

// Bytes that our kernels ask L1 for: each weight once, and each activation once for the rows of a
// warp.
inline double l1_bytes(const Layer& layer, const Bytes& bytes, double tokens) {
  return layer_bytes(layer, {bytes.weight + tokens * bytes.activation / rows, 0, 0}, 0);
}

}  // namespace gemm_batch
