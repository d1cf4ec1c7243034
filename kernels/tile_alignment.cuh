// tile_alignment: a matrix multiplication of our own on the Tensor Cores, small enough to see what
// happens to lanes at an edge.
//
// A block computes 64 x 64 elements of D, taking 32 of k at a time through shared memory; each of
// its four warps multiplies 32 x 32 of them by mma.sync. Where rows of A and B begin at any
// element, lanes load single elements and check before each whether it exists (predicated); where
// the matrices are padded with zeros, each lane loads eight and checks nothing. The whole tile is
// multiplied either way.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <warp_mma.hpp>

namespace tile_alignment {

using element = __nv_bfloat16;
inline constexpr unsigned tile = 64, depth = 32, threads = 128;
// In shared memory, eight more elements per row, so that a warp's fragment comes from 32 banks.
inline constexpr unsigned shared_row = depth + 8;

template <unsigned width>
struct Vector;
template <>
struct Vector<1> {
  using type = unsigned short;
};
template <>
struct Vector<8> {
  using type = uint4;
};

// A tile's rows of `from`, `width` elements per lane. `rows` and `columns` are left from here on;
// what lies beyond them is zero, if `checked`, else taken to exist.
template <unsigned width, bool checked>
__device__ void load_tile(element (&to)[tile][shared_row], const element* from, unsigned rows,
                          unsigned columns, std::size_t ld) {
  using V = typename Vector<width>::type;
  constexpr unsigned in_a_row = depth / width, each = tile * in_a_row / threads;
  V staged[each];
  for (unsigned i = 0; i < each; ++i) {
    const unsigned at = i * threads + threadIdx.x;
    const unsigned row = at / in_a_row, column = at % in_a_row * width;
    staged[i] = V{};
    if (!checked || (row < rows && column < columns)) {
      staged[i] = *reinterpret_cast<const V*>(from + row * ld + column);
    }
  }
  for (unsigned i = 0; i < each; ++i) {
    const unsigned at = i * threads + threadIdx.x;
    *reinterpret_cast<V*>(&to[at / in_a_row][at % in_a_row * width]) = staged[i];
  }
}

__device__ inline unsigned pair_at(const element* first) {
  return *reinterpret_cast<const unsigned*>(first);
}

// d[m][n] = sum over k of a[m][k] * b[n][k]; grid: a block per tile of n (x) and of m (y). With
// `checked` any m, n, k that `width` divides k of; without, whole tiles.
template <unsigned width, bool checked>
__global__ void multiply(const element* a, const element* b, float* d, unsigned m, unsigned n,
                         unsigned k, unsigned lda, unsigned ldb, unsigned ldd) {
  __shared__ __align__(16) element tile_a[tile][shared_row];
  __shared__ __align__(16) element tile_b[tile][shared_row];
  const unsigned first_row = blockIdx.y * tile, first_column = blockIdx.x * tile;
  const unsigned warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const unsigned at_m = warp / 2 * 32, at_n = warp % 2 * 32;
  float sums[2][4][4] = {};
  for (unsigned done = 0; done < k; done += depth) {
    load_tile<width, checked>(tile_a, a + std::size_t{first_row} * lda + done, m - first_row,
                              k - done, lda);
    load_tile<width, checked>(tile_b, b + std::size_t{first_column} * ldb + done, n - first_column,
                              k - done, ldb);
    __syncthreads();
    for (unsigned at_k = 0; at_k < depth; at_k += 16) {
      unsigned from_a[2][4], from_b[4][2];
      for (unsigned i = 0; i < 2; ++i) {
        for (unsigned r = 0; r < 4; ++r) {
          from_a[i][r] = pair_at(&tile_a[at_m + 16 * i + g + r % 2 * 8][at_k + 2 * t + r / 2 * 8]);
        }
      }
      for (unsigned j = 0; j < 4; ++j) {
        for (unsigned r = 0; r < 2; ++r) {
          from_b[j][r] = pair_at(&tile_b[at_n + 8 * j + g][at_k + 2 * t + r * 8]);
        }
      }
      for (unsigned i = 0; i < 2; ++i) {
        for (unsigned j = 0; j < 4; ++j) {
          mma_m16n8k16_bf16(sums[i][j], from_a[i], from_b[j], sums[i][j]);
        }
      }
    }
    __syncthreads();
  }
  for (unsigned i = 0; i < 2; ++i) {
    for (unsigned j = 0; j < 4; ++j) {
      for (unsigned r = 0; r < 4; r += 2) {
        const unsigned row = first_row + at_m + 16 * i + g + r / 2 * 8;
        const unsigned column = first_column + at_n + 8 * j + 2 * t;
        float* const to = d + std::size_t{row} * ldd + column;
        const float left = sums[i][j][r], right = sums[i][j][r + 1];
        if constexpr (checked) {
          if (row < m && column < n) to[0] = left;
          if (row < m && column + 1 < n) to[1] = right;
        } else {
          *reinterpret_cast<float2*>(to) = make_float2(left, right);
        }
      }
    }
  }
}

// --- padding rows ---

inline constexpr unsigned pad_threads = 256, pad_loads = 4;  // of a thread, in flight

// Rows of `k` elements, copied to rows of `ld` with zeros at their ends; a block per row.
[[maybe_unused]] static __global__ void pad_rows(const element* from, element* to, unsigned k,
                                                 unsigned ld) {
  const element* const in = from + blockIdx.x * std::size_t{k};
  element* const out = to + blockIdx.x * std::size_t{ld};
  for (unsigned begin = threadIdx.x; begin < ld; begin += pad_threads * pad_loads) {
    element got[pad_loads];
#pragma unroll
    for (unsigned i = 0; i < pad_loads; ++i) {
      const unsigned at = begin + i * pad_threads;
      got[i] = at < k ? in[at] : element(0.0f);
    }
#pragma unroll
    for (unsigned i = 0; i < pad_loads; ++i) {
      const unsigned at = begin + i * pad_threads;
      if (at < ld) out[at] = got[i];
    }
  }
}

// --- what they must compute ---

// Element i of a matrix of `rows` by `columns`, with zeros beyond, in rows of `ld`.
template <class Source>
struct Padded {
  Source of;
  std::size_t rows, columns, ld;
  __host__ __device__ element operator()(std::size_t i) const {
    const std::size_t row = i / ld, column = i % ld;
    return row < rows && column < columns ? of(row * columns + column) : element(0.0f);
  }
};

// --- what theory says it costs ---

constexpr std::size_t rounded_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

}  // namespace tile_alignment
