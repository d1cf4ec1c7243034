// precision: what is multiplied and added, before any dtype rounds it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/philox.cuh"

namespace precision {

enum class Contents { uniform, outliers, zeros, constant };

// An outlier is so many times larger; one element in `one_in` is one.
inline constexpr double outlier = 32;
inline constexpr std::uint64_t one_in = 1024;

__host__ __device__ inline std::uint64_t random_bits(std::uint64_t seed, std::size_t index) {
  const auto words = philox::at(index, seed);
  return std::uint64_t{words.of[0]} << 32 | words.of[1];
}

// 53 random bits in [-1, 1).
__host__ __device__ inline double uniform(std::uint64_t seed, std::size_t index) {
  const auto bits = static_cast<std::int64_t>(random_bits(seed, index) >> 11);
  return static_cast<double>(bits - (std::int64_t{1} << 52)) * 0x1p-52;
}

// Row by row, `k` in each; of a matrix that is sampled, each `stride`-th row.
struct Values {
  Contents contents;
  std::uint64_t seed;
  std::size_t k, stride = 1;

  __host__ __device__ double operator()(std::size_t index) const {
    const std::size_t at = index / k * stride * k + index % k;
    if (contents == Contents::zeros) return 0;
    if (contents == Contents::constant) return 1;
    const bool is_outlier =
        contents == Contents::outliers && random_bits(seed + 1000, at) % one_in == 0;
    return uniform(seed, at) * (is_outlier ? outlier : 1);
  }
  // No element is larger.
  __host__ __device__ double largest() const {
    return contents == Contents::outliers ? outlier : 1;
  }
};

// Numbers in [0, 1) that fp32 holds.
struct Addends {
  std::uint64_t seed;
  __host__ __device__ float operator()(std::size_t index) const {
    return static_cast<float>(random_bits(seed, index) >> 40) * 0x1p-24f;
  }
};

// Gradients: of 32 neighbours one in [2^-e, 2^(1 - e)) for each e from `largest_exponent` on, as
// training has them, spread evenly over many powers of two.
struct Gradients {
  static constexpr int largest_exponent = 8, exponents = 32;
  std::uint64_t seed;
  __host__ __device__ float operator()(std::size_t index) const {
    const std::uint64_t bits = random_bits(seed, index);
    const float significand = 1 + static_cast<float>(bits >> 41) * 0x1p-23f;
    float power = 1;
    for (std::size_t e = largest_exponent + index % exponents; e > 0; --e) power *= 0.5f;
    return (bits & 1) != 0 ? -significand * power : significand * power;
  }
};

}  // namespace precision
