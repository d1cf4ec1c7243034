// Elements of matrices as numbers, and products of small ones.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "harness/platform/model/ptx/numbers.hpp"
#include "harness/platform/model/ptx/types.hpp"

namespace gpubench::model::ptx {

// One element of a register or of memory as a double, which holds all of these types exactly.
inline double element(Type type, const void* at) {
  const auto read = [&]<class T>(T word) {
    std::memcpy(&word, at, sizeof word);
    return word;
  };
  switch (type) {
    case Type::f16:
      return half_to_float(read(std::uint16_t{}));
    case Type::bf16:
      return bfloat16_to_float(read(std::uint16_t{}));
    // The lowest 13 bits are not looked at.
    case Type::tf32:
      return std::bit_cast<float>(read(std::uint32_t{}) & ~0x1fffu);
    case Type::f32:
      return std::bit_cast<float>(read(std::uint32_t{}));
    case Type::f64:
      return read(double{});
    case Type::s8:
      return read(std::int8_t{});
    case Type::u8:
      return read(std::uint8_t{});
    case Type::s32:
      return read(std::int32_t{});
    case Type::e4m3:
      return decode(read(std::uint8_t{}), ptx::e4m3);
    default:
      return decode(read(std::uint8_t{}), ptx::e5m2);
  }
}

// An element of a matrix with block scales, of 8 bits (E4M3) or 4 (E2M1), the lowest ones of
// `word`.
inline double scaled_element(unsigned bits, std::uint32_t word) {
  if (bits == 8) return decode(word & 0xff, ptx::e4m3);
  constexpr double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (word & 8) != 0 ? -sizes[word & 7] : sizes[word & 7];
}
// What a block of such elements is multiplied by: its scale is the lowest byte of `word`, a power
// of two (UE8M0) for those of 8 bits, and for those of 4 an E4M3 whose sign nobody looks at
// (UE4M3).
inline double block_scale(unsigned bits, std::uint32_t word) {
  if (bits == 4) return decode(word & 0x7f, ptx::e4m3);
  const int exponent = static_cast<int>(word & 0xff);
  return exponent == 0xff ? NAN : std::ldexp(1.0, exponent - 127);
}

// sums[i][j] += a[i][k] * b[k][j], for rows of `columns` sums.
[[gnu::always_inline]] inline void add_products(const double* a, const double* b, double* sums,
                                                unsigned rows, unsigned columns, unsigned depth) {
  for (unsigned i = 0; i < rows; ++i) {
    double* const row = sums + i * columns;
    for (unsigned k = 0; k < depth; ++k) {
      const double factor = a[i * depth + k];
      const double* const of_b = b + k * columns;
      for (unsigned j = 0; j < columns; ++j) row[j] += factor * of_b[j];
    }
  }
}
[[gnu::target("avx2,fma")]] inline void add_products_wide(const double* a, const double* b,
                                                          double* sums, unsigned rows,
                                                          unsigned columns, unsigned depth) {
  add_products(a, b, sums, rows, columns, depth);
}

}  // namespace gpubench::model::ptx
