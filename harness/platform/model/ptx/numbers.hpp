// Floating-point numbers of 8 and 16 bits, rounding other than to nearest, and what orders
// integers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gpubench::model::ptx {

enum class Rounding : std::uint8_t { nearest, zero, down, up };

// The smaller and the larger of two integers.
struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// exponent bits, fraction bits; e4m3 has no infinity, and one NaN.
struct Format {
  int exponent_bits, fraction_bits;
  bool has_infinity;
};
inline constexpr Format half{5, 10, true}, bfloat16{8, 7, true}, e4m3{4, 3, false},
    e5m2{5, 2, true};

inline double decode(std::uint32_t bits, const Format& f) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const std::uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1));
  const bool minus = bits >> (f.exponent_bits + f.fraction_bits) & 1;
  const int top = (1 << f.exponent_bits) - 1;
  double value = 0;
  if (exponent == top && f.has_infinity) {
    value = fraction == 0 ? INFINITY : NAN;
  } else if (!f.has_infinity && exponent == top && fraction == (1u << f.fraction_bits) - 1) {
    value = NAN;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - f.fraction_bits);
  } else {
    value = std::ldexp(fraction + (1u << f.fraction_bits), exponent - bias - f.fraction_bits);
  }
  return minus ? -value : value;
}

// `saturate`: what is too large becomes the largest number instead of infinity or NaN.
inline std::uint32_t encode(double x, const Format& f, Rounding rounding, bool saturate) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const std::uint32_t sign = std::signbit(x) ? 1u << (f.exponent_bits + f.fraction_bits) : 0;
  const std::uint32_t top = ((1u << f.exponent_bits) - 1) << f.fraction_bits;
  const std::uint32_t ones = (1u << f.fraction_bits) - 1;
  const std::uint32_t nan = top | ones;
  const std::uint32_t infinity = f.has_infinity ? top : nan;
  const std::uint32_t largest = f.has_infinity ? top - 1 : nan - 1;
  if (std::isnan(x)) return nan;
  const double size = std::fabs(x);
  if (std::isinf(x)) return sign | (saturate ? largest : infinity);
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), 1 - bias);
  const double scaled = std::ldexp(size, f.fraction_bits - exponent);
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  const bool away = rounding == Rounding::nearest
                        ? rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1)
                    : rounding == Rounding::down ? rest > 0 && sign != 0
                    : rounding == Rounding::up   ? rest > 0 && sign == 0
                                                 : false;
  whole += away ? 1 : 0;
  const auto units = static_cast<std::uint64_t>(whole);
  // A carry into the exponent is what adding does.
  const std::uint64_t bits =
      units + (static_cast<std::uint64_t>(exponent + bias - 1) << f.fraction_bits);
  if (bits > largest) {
    const bool to_largest = saturate || rounding == Rounding::zero ||
                            (rounding == Rounding::down && sign == 0) ||
                            (rounding == Rounding::up && sign != 0);
    return sign | (to_largest ? largest : infinity);
  }
  return sign | static_cast<std::uint32_t>(bits);
}

inline float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 0xffu : exponent + 112) << 23 |
                              fraction << 13);
}
inline float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// a + b as a double whose last bit is odd if it is not exact: what is rounded from it to a shorter
// type, in whatever direction, is rounded right. (Boldo and Melquiond, "Emulation of FMA".)
inline double odd_sum(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double of_a = sum - b, of_b = sum - of_a;
  const double lost = (a - of_a) + (b - of_b);
  if (lost == 0) return sum;
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (bits & 1) return sum;
  return std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// Numbers too small to be normal count as 0 with their sign.
template <class T>
T flushed(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
}

// Between 0 and 1; what is no number is 0.
template <class T>
T saturated(T x) {
  return x >= 0 ? (x > 1 ? T{1} : x) : T{0};
}

// A double that is exact, or odd where it is not, as a float.
inline float to_float(double x, Rounding rounding) {
  const auto nearest = static_cast<float>(x);
  if (rounding == Rounding::nearest || std::isnan(x) || static_cast<double>(nearest) == x) {
    return nearest;
  }
  const bool down = rounding == Rounding::down || (rounding == Rounding::zero && x > 0);
  if (down && nearest > x) return std::nextafterf(nearest, -INFINITY);
  if (!down && nearest < x) return std::nextafterf(nearest, INFINITY);
  return nearest;
}

}  // namespace gpubench::model::ptx
