// Arithmetic on half and bfloat16 (include/float16.h): computed in double, rounded once. And tf32.
#include "harness/platform/model/include/float16.h"

#include <bit>
#include <cmath>

#include "harness/platform/model/emulator/counted_atomic.hpp"
#include "harness/platform/model/include/warp_matrix.h"

namespace gpubench::model {
namespace {

// a * b + c, rounded to odd: truncated, and then the last bit is set if anything was lost.
//
// A second rounding, to any format with at least two bits fewer, then gives what a single one
// would have given (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
// algorithms using rounding to odd", 2008): a truncated number that is odd is neither a number of
// the narrow format nor half-way between two of them, and it lies on the same side of each as the
// exact sum does. Half and bfloat16 have 11 and 8 bits, double has 53. A double rounded to nearest
// would not do: with a * b half-way between two bfloat16 and c = 2^-100, it forgets c.
//
// The product of two such numbers is exact in double (22 bits, exponents within -298 and 256), and
// so is the error of a double's sum (Knuth's two-sum).
double fused_to_odd(double a, double b, double c) {
  const double product = a * b;
  const double sum = product + c;
  const double of_c = sum - product;
  const double error = (product - (sum - of_c)) + (c - of_c);
  if (error == 0 || !std::isfinite(sum)) return sum;
  auto bits = std::bit_cast<std::uint64_t>(sum);
  // An odd sum is right: either it was truncated, or it is one beyond an even truncated one.
  if (bits % 2 == 0) bits += std::signbit(error) == std::signbit(sum) ? 1 : -1ull;
  return std::bit_cast<double>(bits);
}

double sum_to_odd(double a, double b) { return fused_to_odd(a, 1, b); }

// Applies `operation` to the doubles in the low halves of the words, and in the high ones.
template <SmallFloat format, class Operation, class... Words>
std::uint32_t on(Lanes lanes, Operation&& operation, Words... words) {
  std::uint32_t result = encode(format, operation(decode(format, words & 0xffff)...));
  if (lanes == Lanes::both) {
    result |= encode(format, operation(decode(format, words >> 16)...)) << 16;
  }
  return result;
}

// Where it was called from, in the kernel.
template <SmallFloat format>
[[gnu::always_inline]] inline void count_instruction(const void* code) {
  constexpr bool is_half = format.exponent_bits == half_format.exponent_bits;
  constexpr Arithmetic unit = is_half ? Arithmetic::fma_fp16x2 : Arithmetic::fma_bf16x2;
  count_arithmetic(unit, code);
}

// The one of two numbers that comes first by `before`.
template <class Before>
double first_of(double a, double b, bool keep_nan, Before&& before) {
  if (std::isnan(a)) return keep_nan ? a : b;
  if (std::isnan(b)) return keep_nan ? b : a;
  return before(a, b) ? a : b;
}

}  // namespace

std::uint32_t round_to(SmallFloat format, double x, Overflow overflow) noexcept {
  return encode(format, x, overflow);
}
double value_of(SmallFloat format, std::uint32_t encoding) noexcept {
  return decode(format, encoding);
}

float round_to_tf32(float x) noexcept {
  if (!std::isfinite(x)) return x;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & ~0x1fffu);
}

template <SmallFloat format>
std::uint32_t Arithmetic16<format>::add(Lanes lanes, Word a, Word b) noexcept {
  count_instruction<format>(__builtin_return_address(0));
  return on<format>(lanes, sum_to_odd, a, b);
}

template <SmallFloat format>
std::uint32_t Arithmetic16<format>::multiply(Lanes lanes, Word a, Word b) noexcept {
  count_instruction<format>(__builtin_return_address(0));
  return on<format>(
      lanes, [](double x, double y) { return x * y; }, a, b);
}

template <SmallFloat format>
std::uint32_t Arithmetic16<format>::fuse(Lanes lanes, Word a, Word b, Word c) noexcept {
  count_instruction<format>(__builtin_return_address(0));
  return on<format>(lanes, fused_to_odd, a, b, c);
}

template <SmallFloat format>
std::uint32_t Arithmetic16<format>::pack(float low, float high) noexcept {
  count_arithmetic(Arithmetic::pack_16x2, __builtin_return_address(0));
  return encode(format, low, Overflow::infinite) | encode(format, high, Overflow::infinite) << 16;
}

// A double's quotient or root of numbers of p bits is never half-way between two such numbers
// unless the exact one is, since 53 >= 2 p + 2 (Figueroa, "When is double rounding innocuous?",
// 1995; a quotient in the subnormal range has fewer bits and is farther yet).
template <SmallFloat format>
std::uint32_t Arithmetic16<format>::divide(Lanes lanes, Word a, Word b) noexcept {
  return on<format>(
      lanes, [](double x, double y) { return x / y; }, a, b);
}

template <SmallFloat format>
std::uint32_t Arithmetic16<format>::square_root(Lanes lanes, Word a) noexcept {
  return on<format>(
      lanes, [](double x) { return std::sqrt(x); }, a);
}

template <SmallFloat format>
std::uint32_t Arithmetic16<format>::smaller(Lanes lanes, Word a, Word b, bool keep_nan) noexcept {
  const auto before = [](double x, double y) { return x == y ? std::signbit(x) : x < y; };
  return on<format>(
      lanes, [&](double x, double y) { return first_of(x, y, keep_nan, before); }, a, b);
}

template <SmallFloat format>
std::uint32_t Arithmetic16<format>::larger(Lanes lanes, Word a, Word b, bool keep_nan) noexcept {
  const auto before = [](double x, double y) { return x == y ? !std::signbit(x) : x > y; };
  return on<format>(
      lanes, [&](double x, double y) { return first_of(x, y, keep_nan, before); }, a, b);
}

template <SmallFloat format>
std::uint16_t Arithmetic16<format>::add_to(std::uint16_t* address, std::uint16_t value) noexcept {
  return counted_atomic(address, __builtin_return_address(0), [&](std::uint16_t old) {
    return static_cast<std::uint16_t>(on<format>(Lanes::one, sum_to_odd, old, value));
  });
}

template <SmallFloat format>
std::uint32_t Arithmetic16<format>::add_to_both(Word* address, Word value) noexcept {
  return counted_atomic(address, __builtin_return_address(0),
                        [&](Word old) { return on<format>(Lanes::both, sum_to_odd, old, value); });
}

template <SmallFloat format>
float Arithmetic16<format>::hyperbolic_tangent(float x) noexcept {
  constexpr unsigned operations = format.exponent_bits == half_format.exponent_bits ? 2 : 1;
  if (running_block != nullptr) {
    running_block->on_special(operations, __builtin_return_address(0));
  }
  return static_cast<float>(std::tanh(static_cast<double>(x)));
}

template struct Arithmetic16<half_format>;
template struct Arithmetic16<bfloat16_format>;

}  // namespace gpubench::model
