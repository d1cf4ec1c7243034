// Floating-point formats of 4 to 16 bits: how a number becomes one, and what one stands for. The
// only place where this is written; cuda_fp16.h, cuda_bf16.h and cuda_fp8.h are names for it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace gpubench::model {

// Sign, exponent, mantissa from the highest bit down; the exponent's bias is half its range. With
// `infinity`, the highest exponent holds infinity and NaN, as IEEE 754 has it; without, it is an
// exponent like any other and only the encoding of all ones is NaN (E4M3 of Micikevicius et al.,
// "FP8 formats for deep learning", 2022).
struct SmallFloat {
  int exponent_bits, mantissa_bits;
  bool infinity = true;

  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr std::uint32_t sign() const { return 1u << (bits() - 1); }
  constexpr std::uint32_t nan() const { return sign() - 1; }  // CUDA's: positive, all ones
  constexpr std::uint32_t largest() const {                   // finite
    return infinity ? (((1u << exponent_bits) - 1) << mantissa_bits) - 1 : nan() - 1;
  }
  constexpr int lowest_exponent() const { return 2 - (1 << (exponent_bits - 1)); }  // of a normal
};
inline constexpr SmallFloat half_format{5, 10}, bfloat16_format{8, 7}, e4m3_format{4, 3, false},
    e5m2_format{5, 2};

// What a number beyond the largest finite one becomes: infinity (NaN where there is none), or the
// largest finite one.
enum class Overflow { infinite, finite };

// The number nearest to `x`, of two as near the one with an even encoding.
constexpr std::uint32_t encode(SmallFloat f, double x, Overflow overflow = Overflow::infinite) {
  constexpr int double_mantissa = 52;
  if (x != x) return f.nan();
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint32_t sign = bits >> 63 != 0 ? f.sign() : 0;
  const int exponent = static_cast<int>(bits >> double_mantissa & 0x7ff) - 1023;
  const int below_normal = std::max(0, f.lowest_exponent() - exponent);
  const int dropped = double_mantissa - f.mantissa_bits + below_normal;
  if (dropped > double_mantissa + 1) return sign;  // less than half of the smallest subnormal
  const std::uint64_t one = std::uint64_t{1} << double_mantissa;
  const std::uint64_t significand = (bits & (one - 1)) | one;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << dropped) - 1);
  const std::uint64_t middle = std::uint64_t{1} << (dropped - 1);
  std::uint64_t kept = significand >> dropped;
  if (rest > middle || (rest == middle && kept % 2 == 1)) ++kept;
  // The leading one of a normal's significand, and a carry out of it, count the exponent up.
  const auto steps = static_cast<std::uint64_t>(std::max(0, exponent - f.lowest_exponent()));
  const std::uint64_t magnitude = (steps << f.mantissa_bits) + kept;
  if (magnitude <= f.largest()) return sign | static_cast<std::uint32_t>(magnitude);
  return sign | (overflow == Overflow::finite ? f.largest() : f.largest() + 1);
}

// What an encoding stands for; exact.
constexpr double decode(SmallFloat f, std::uint32_t encoding) {
  const auto number = [&](int exponent, std::uint32_t mantissa) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52 |
                                 std::uint64_t{mantissa} << (52 - f.mantissa_bits));
  };
  const std::uint32_t magnitude = encoding & f.nan();
  const std::uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  const int steps = static_cast<int>(magnitude >> f.mantissa_bits);
  double value = 0;
  if (magnitude > f.largest()) {
    value = number(1024, f.infinity && magnitude == f.largest() + 1 ? 0 : 1);
  } else if (steps > 0) {
    value = number(f.lowest_exponent() + steps - 1, mantissa);
  } else {  // a normal has a leading one, which a subnormal lacks
    value = number(f.lowest_exponent(), mantissa) - number(f.lowest_exponent(), 0);
  }
  return (encoding & f.sign()) != 0 ? -value : value;
}

// What four bits stand for: E2M1, which has neither infinity nor NaN.
constexpr double fp4_value(unsigned bits) {
  constexpr double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (bits & 8) != 0 ? -magnitudes[bits & 7] : magnitudes[bits & 7];
}
// What the scale of a block stands for that is an E4M3 without a sign, UE4M3: nobody looks at the
// highest bit.
constexpr double unsigned_e4m3(std::uint32_t bits) {
  return decode(e4m3_format, bits & e4m3_format.nan());
}
// What the scale of a block stands for that is a power of two: UE8M0, all ones are NaN.
constexpr double power_of_two(std::uint32_t exponent) {
  if (exponent == 0xff) return std::bit_cast<double>(std::uint64_t{0x7ff8} << 48);
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023 - 127) << 52);
}

}  // namespace gpubench::model
