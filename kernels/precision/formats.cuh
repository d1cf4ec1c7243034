// precision: how the formats of the library's multiplications hold values, element i of a matrix at
// a time. Rounded to nearest even, once.
#pragma once

#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/precision/values.cuh"

namespace precision {

// The largest numbers of the narrow formats.
inline constexpr double largest_e4m3 = 448, largest_e5m2 = 57344, largest_int8 = 127,
                        largest_e2m1 = 6;

// One scale for the whole matrix.
template <class T>
struct Rounded {
  Values values;
  double scale;

  __host__ __device__ T operator()(std::size_t i) const {
    const double scaled = values(i) * scale;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(rint(scaled));
    } else {
      return static_cast<T>(scaled);
    }
  }
};

// The largest magnitude of `count` elements from `first` on.
__host__ __device__ inline double largest_of(const Values& values, std::size_t first,
                                             unsigned count) {
  double largest = 0;
  for (unsigned i = 0; i < count; ++i) {
    const double magnitude = fabs(values(first + i));
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

// mxfp8: the smallest power of two by which no element of a block of 32 is beyond the largest e4m3.
struct Mxfp8 {
  static constexpr unsigned together = 32;
  static constexpr int smallest = -127;
  Values values;

  __host__ __device__ int exponent(std::size_t block) const {
    const double largest = largest_of(values, block * together, together);
    int found = -32;
    for (double reach = largest_e4m3 * 0x1p-32; reach < largest; reach *= 2) ++found;
    return found;
  }
  __host__ __device__ __nv_fp8_e4m3 element(std::size_t i, int scaled_by) const {
    return static_cast<__nv_fp8_e4m3>(ldexp(values(i), -scaled_by));
  }
  __host__ __device__ __nv_fp8_e4m3 operator()(std::size_t i) const {
    return element(i, exponent(i / together));
  }
  // What the format makes of a block's values.
  void held(std::size_t block, double (&to)[together]) const {
    const int scaled_by = exponent(block);
    for (unsigned i = 0; i < together; ++i) {
      const __nv_fp8_e4m3 kept = element(block * together + i, scaled_by);
      to[i] = ldexp(static_cast<double>(static_cast<float>(kept)), scaled_by);
    }
  }
  __host__ __device__ std::uint8_t scale(std::size_t block) const {
    return static_cast<std::uint8_t>(exponent(block) - smallest);
  }
  double unscale() const { return 1; }
};

// e2m1, of two as near the one with an even encoding.
__host__ __device__ inline unsigned fp4_of(double x) {
  const double m = fabs(x);
  const unsigned magnitude =
      (m > 0.25) + (m >= 0.75) + (m > 1.25) + (m >= 1.75) + (m > 2.5) + (m >= 3.5) + (m > 5);
  return magnitude | (x < 0 ? 8u : 0u);
}
inline double value_of_fp4(unsigned bits) {
  constexpr double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, largest_e2m1};
  return (bits & 8) != 0 ? -magnitudes[bits & 7] : magnitudes[bits & 7];
}

// nvfp4: the largest of a block of 16 becomes 6, as far as its scale, an e4m3, tells; a scale of
// the whole matrix makes 448 of the largest of those.
struct Nvfp4 {
  static constexpr unsigned together = 16;
  Values values;

  __host__ __device__ double matrix_scale() const {
    return values.largest() / (largest_e2m1 * largest_e4m3);
  }
  __host__ __device__ __nv_fp8_e4m3 block_scale(std::size_t block) const {
    const double largest = largest_of(values, block * together, together);
    return static_cast<__nv_fp8_e4m3>(largest / largest_e2m1 / matrix_scale());
  }
  __host__ __device__ double whole_scale(std::size_t block) const {
    return matrix_scale() * static_cast<double>(static_cast<float>(block_scale(block)));
  }
  // Two elements.
  __host__ __device__ std::uint8_t operator()(std::size_t pair) const {
    const std::size_t i = 2 * pair;
    const double scale = whole_scale(i / together);
    if (scale == 0) return 0;
    return static_cast<std::uint8_t>(fp4_of(values(i) / scale) | fp4_of(values(i + 1) / scale)
                                                                     << 4);
  }
  void held(std::size_t block, double (&to)[together]) const {
    const double scale = whole_scale(block);
    for (unsigned i = 0; i < together; ++i) {
      const double value = values(block * together + i);
      to[i] = scale == 0 ? 0 : value_of_fp4(fp4_of(value / scale)) * scale;
    }
  }
  __host__ __device__ std::uint8_t scale(std::size_t block) const { return block_scale(block).__x; }
  double unscale() const { return matrix_scale(); }
};

}  // namespace precision
