// embedding: rows of a table, named by a list of indices, `pool` of them summed into one.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/philox.cuh"

namespace embedding {

inline constexpr unsigned threads = 128;
inline constexpr unsigned pool = 8;  // rows a bag
inline constexpr unsigned vector_bytes = sizeof(float4);

// Bag b is the sum of rows indices[pool * b ...] of `table`; a row has `vectors` of 16 bytes, and a
// thread one of them. Lanes side by side read side by side as far as a row goes.
[[maybe_unused]] static __global__ void bag(const float4* table, const unsigned* indices,
                                            float4* out, unsigned vectors, std::size_t bags) {
  const std::size_t me = blockIdx.x * std::size_t{threads} + threadIdx.x;
  if (me >= bags * vectors) return;
  const std::size_t of_bag = me / vectors;
  const auto at = static_cast<unsigned>(me % vectors);
  float4 got[pool];
#pragma unroll
  for (unsigned j = 0; j < pool; ++j) {
    got[j] = table[std::size_t{indices[of_bag * pool + j]} * vectors + at];
  }
  float4 sum = got[0];
#pragma unroll
  for (unsigned j = 1; j < pool; ++j) {
    sum = {sum.x + got[j].x, sum.y + got[j].y, sum.z + got[j].z, sum.w + got[j].w};
  }
  out[me] = sum;
}

// --- which rows ---

inline constexpr std::uint64_t seed = 7;

__host__ __device__ inline std::uint32_t random_word(std::size_t i) {
  return philox::at(i / 4, seed).of[i % 4];
}

// Every row as likely as any other.
struct Uniform {
  std::uint64_t rows;
  __host__ __device__ unsigned operator()(std::size_t i) const {
    return static_cast<unsigned>(random_word(i) * rows >> 32);
  }
};

// Zipf's law with exponent 1, in its continuous form: the k-th row in popularity is asked for with
// the probability ln(1 + 1 / k) / ln(rows + 1), nearly 1 / (k ln rows). Popular rows lie scattered:
// the factor is a prime that divides no number of rows used here.
struct Zipf {
  std::uint64_t rows;
  __host__ __device__ unsigned operator()(std::size_t i) const {
    const double draw = (random_word(i) + 0.5) / 4294967296.0;
    const double place = exp(draw * log(static_cast<double>(rows) + 1)) - 1;
    const auto rank = static_cast<std::uint64_t>(place);
    return static_cast<unsigned>((rank < rows ? rank : rows - 1) * 2654435761u % rows);
  }
};

// --- what they must compute ---

template <class Source, class Indices>
struct ExpectedBag {
  Source table;
  Indices indices;
  std::size_t words;  // of a row
  __host__ __device__ float operator()(std::size_t i) const {
    const std::size_t of_bag = i / words, word = i % words;
    float sum = 0;
    for (unsigned j = 0; j < pool; ++j) sum += table(indices(of_bag * pool + j) * words + word);
    return sum;
  }
};

// --- what theory says they cost ---

// Bytes that are fetched for one row of `row` bytes, on average over where rows begin, if each
// piece of `piece` bytes that it touches is fetched whole, for it alone.
constexpr double fetched_bytes(std::uint64_t row, std::uint64_t piece) {
  const std::uint64_t rows = piece;  // after so many, one begins again where a piece does
  std::uint64_t pieces = 0;
  for (std::uint64_t r = 0; r < rows; ++r) {
    pieces += ((r + 1) * row - 1) / piece - r * row / piece + 1;
  }
  return static_cast<double>(pieces * piece) / static_cast<double>(rows);
}

// Sectors a request, over the two loads, where a row is a power of two of bytes from a sector on: a
// warp reads 512 bytes of rows, and an index for each row that it has a part in, a bag's indices
// apart.
constexpr double sectors_a_request(double row) {
  const double rows_of_warp = row < 512 ? 512 / row : 1;
  return (512.0 / 32 + rows_of_warp) / 2;
}

// How many of `rows` rows are asked for at least once in `draws`.
inline double distinct_rows(const Uniform& from, double draws) {
  const auto rows = static_cast<double>(from.rows);
  return rows * -std::expm1(-draws / rows);
}
// Summed up over ranks in steps of a thousandth, which are all alike to a popularity of 1 / rank.
inline double distinct_rows(const Zipf& from, double draws) {
  const double all = std::log(static_cast<double>(from.rows) + 1);
  double sum = 0;
  for (double rank = 1; rank <= static_cast<double>(from.rows);) {
    const double width = std::fmax(1, std::floor(rank / 1000));
    const double likely = std::log1p(width / rank) / all / width;
    sum += width * -std::expm1(draws * std::log1p(-likely));
    rank += width;
  }
  return sum;
}

}  // namespace embedding
