// What a matrix multiplication must compute, and how to tell without computing all of it again.
// D[m][n] = sum over k of A[m][k] * B[n][k], all by rows; or of A[m][k] * B[k][n].
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace product {

// Element i of D as it lies in memory, from the functions that A and B were filled by. Beyond the n
// elements of a row, up to ldd, nobody writes: there it is `gap`. `Result` is made of the sum in
// fp64.
template <class Out, class Source, class Result = Out>
struct Expected {
  Source a, b;
  std::size_t n, k, lda, b_column, b_step, ldd;  // from B[.][n] to the next n, to the next k
  Out gap;
  __host__ __device__ Result operator()(std::size_t i) const {
    const std::size_t row = i / ldd, column = i % ldd;
    if (column >= n) return static_cast<Result>(static_cast<double>(gap));
    double sum = 0;
    for (std::size_t j = 0; j < k; ++j) {
      sum += static_cast<double>(a(row * lda + j)) *
             static_cast<double>(b(column * b_column + j * b_step));
    }
    return static_cast<Result>(sum);
  }
};

// --- Freivalds: D r = A (B^T r) for a vector r of random signs, wrong for a wrong D in at least
// half of the cases, at the cost of reading the three matrices once ---

__host__ __device__ inline double sign(std::uint64_t seed, std::size_t i) {
  std::uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 29)) * 0x94d049bb133111ebu;
  return (z >> 63) != 0 ? 1.0 : -1.0;
}

inline constexpr unsigned threads = 128;

// combined[k] = sum over n of sign(n) * B[n][k]. A thread a column.
template <class T>
__global__ void combine_rows(const T* b, std::size_t n, std::size_t k, std::size_t ldb,
                             std::uint64_t seed, double* combined) {
  const std::size_t column = blockIdx.x * std::size_t{threads} + threadIdx.x;
  if (column >= k) return;
  double sum = 0;
  for (std::size_t row = 0; row < n; ++row) {
    sum += sign(seed, row) * static_cast<double>(b[row * ldb + column]);
  }
  combined[column] = sum;
}

struct BySigns {
  std::uint64_t seed;
  __device__ double operator()(std::size_t i) const { return sign(seed, i); }
};
struct ByVector {
  const double* of;
  __device__ double operator()(std::size_t i) const { return of[i]; }
};

// sums[row] = sum over columns of matrix[row][column] * weight(column), squares[row] = sum of
// squares of the matrix's row. A block per row.
template <class T, class Weight>
__global__ void weigh_columns(const T* matrix, std::size_t columns, std::size_t ld, Weight weight,
                              double* sums, double* squares) {
  __shared__ double parts[2][threads];
  const T* const row = matrix + blockIdx.x * ld;
  double sum = 0, square = 0;
  for (std::size_t column = threadIdx.x; column < columns; column += threads) {
    const double value = static_cast<double>(row[column]);
    sum += value * weight(column);
    square += value * value;
  }
  parts[0][threadIdx.x] = sum;
  parts[1][threadIdx.x] = square;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned t = 1; t < threads; ++t) {
    sum += parts[0][t];
    square += parts[1][t];
  }
  sums[blockIdx.x] = sum;
  squares[blockIdx.x] = square;
}

// Some elements of D and what they must be.
template <class T, class Want>
__global__ void sample(const T* d, std::size_t m, Want want, std::uint64_t seed, unsigned count,
                       double* got, double* wanted) {
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  if (i >= count) return;
  std::uint64_t z = (seed + i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  const std::size_t at = z % m * want.ldd + (z >> 24) % want.n;
  got[i] = static_cast<double>(d[at]);
  wanted[i] = static_cast<double>(want(at));
}

}  // namespace product
