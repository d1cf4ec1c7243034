// What a layer's results must be, how tokens are split over experts, and what theory says both
// cost.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/common/philox.cuh"
#include "kernels/gemm_batch/weights.cuh"

namespace gemm_batch {

// --- weights of four bits ---

// Nibbles are random, so any words will do. Scales are between 2^-10 and 2^-4.
struct Scales {
  std::uint64_t seed;
  __host__ __device__ __half operator()(std::size_t i) const {
    return static_cast<__half>(static_cast<float>(1 + philox::at(i / 4, seed).of[i % 4] % 64) /
                               1024);
  }
};

// Element i of Y, from the numbers that the nibbles of `words` stand for. `Result` is made of the
// sum in fp64.
template <class Source, class Words, class Result>
struct ExpectedInt4 {
  Source x;
  Words words;
  Scales scales;
  std::size_t n, k;

  __host__ __device__ double weight(std::size_t row, std::size_t at) const {
    const std::uint32_t word = words(row * (k / word_weights) + word_of(at));
    const unsigned nibble = word >> (4 * nibble_of(at % word_weights)) & 15;
    return (static_cast<double>(nibble) - 8) *
           static_cast<double>(static_cast<float>(scales(row * (k / group) + at / group)));
  }
  __host__ __device__ Result operator()(std::size_t i) const {
    double sum = 0;
    for (std::size_t at = 0; at < k; ++at) {
      sum += static_cast<double>(static_cast<float>(x(i / n * k + at))) * weight(i % n, at);
    }
    return static_cast<Result>(sum);
  }
};

// How far sums of k products may be off besides the rounding of the result. The four products that
// are added in fp16 rarely exceed 16, so a rounding has a standard deviation of at most
// 2^-7 / sqrt(12). There are eight in a word, times a scale of at most 2^-4. Six deviations of all.
inline double int4_tolerance(double k) {
  const double of_word = std::sqrt(8.0 / 12) * 0x1p-7;
  return 6 * of_word * 0x1p-4 * std::sqrt(k / word_weights);
}

// --- experts ---

// How `m` tokens per expert on average are split over `experts`: evenly, or so that of four experts
// in a row the first has m, the second half as many, the third a quarter, and the fourth the rest.
// (An m that four divides, and experts in fours.)
struct Split {
  unsigned experts, m;
  bool even;

  __host__ __device__ unsigned tokens() const { return experts * m; }
  // The first token of an expert; of the one after the last: how many tokens there are.
  __host__ __device__ unsigned operator()(std::size_t expert) const {
    const auto number = static_cast<unsigned>(expert), place = number % 4;
    if (even || place == 0) return number * m;
    return (number - place) * m + m + (place > 1 ? m / 2 : 0) + (place > 2 ? m / 4 : 0);
  }
  __host__ __device__ unsigned tokens_of(unsigned expert) const {
    return (*this)(expert + 1) - (*this)(expert);
  }
  __host__ __device__ unsigned expert_of(unsigned token) const {
    if (even) return token / m;
    unsigned expert = token / (4 * m) * 4;
    while (token >= (*this)(expert + 1)) ++expert;
    return expert;
  }
  unsigned fullest() const { return even ? m : tokens_of(3); }
};

// Element i of Y[tokens][n], each token by its own expert's weights W[experts][n][k].
template <class Source, class Result>
struct ExpectedOfExperts {
  Source x, weights;
  Split split;
  std::size_t n, k;

  __host__ __device__ Result operator()(std::size_t i) const {
    const std::size_t token = i / n,
                      row = split.expert_of(static_cast<unsigned>(token)) * n + i % n;
    double sum = 0;
    for (std::size_t at = 0; at < k; ++at) {
      sum += static_cast<double>(x(token * k + at)) * static_cast<double>(weights(row * k + at));
    }
    return static_cast<Result>(sum);
  }
};

// --- what theory says they cost ---

// Rows of weights, and weights in a row.
struct Layer {
  unsigned n, k;
};

// Per element.
struct Bytes {
  double weight, activation, result;
};
template <class Weights>
inline constexpr Bytes bytes_of{Weights::weight_bytes, sizeof(typename Weights::element),
                                sizeof(typename Weights::element)};

// Weights are read once, and so are activations; results are written.
inline double layer_bytes(const Layer& layer, const Bytes& bytes, double tokens) {
  const double n = layer.n, k = layer.k;
  return n * k * bytes.weight + tokens * (k * bytes.activation + n * bytes.result);
}
inline double layer_flops(const Layer& layer, double tokens) {
  return 2.0 * layer.n * layer.k * tokens;
}

// The number of tokens from which on arithmetic takes longer than memory. Infinite where it never
// does, because every token brings bytes of its own that take longer. `dram` [bytes/s].
inline double ridge(const Layer& layer, const Bytes& bytes, double dram, double flops) {
  const double weights = layer_bytes(layer, bytes, 0);
  const double of_token =
      layer_flops(layer, 1) / flops - (layer_bytes(layer, bytes, 1) - weights) / dram;
  return of_token > 0 ? weights / dram / of_token : std::numeric_limits<double>::infinity();
}

}  // namespace gemm_batch
