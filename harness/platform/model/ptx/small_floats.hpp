// Arithmetic on numbers of 16 bits: exact or odd in double, then rounded once.
#pragma once

#include "harness/platform/model/ptx/numbers.hpp"

namespace gpubench::model::ptx {

struct AsHalf {
  static double widen(std::uint16_t x) { return half_to_float(x); }
  static std::uint16_t narrow(double x) {
    return static_cast<std::uint16_t>(encode(x, half, Rounding::nearest, false));
  }
};
struct AsBfloat {
  static double widen(std::uint16_t x) { return bfloat16_to_float(x); }
  static std::uint16_t narrow(double x) {
    return static_cast<std::uint16_t>(encode(x, bfloat16, Rounding::nearest, false));
  }
};
struct OddAdd {
  double operator()(double a, double b) const { return odd_sum(a, b); }
};

template <class F, class As, class... T>
concept Widens = requires(F f, T... a) {
  f(As::widen(static_cast<std::uint16_t>(a))...);
};
// F of numbers, and of pairs of them in a word each.
template <class F, class As>
struct InSmall {
  template <class... T>
  requires Widens<F, As, T...> std::uint16_t operator()(T... a) const {
    return As::narrow(F()(As::widen(a)...));
  }
};
template <class F, class As>
struct InSmallPair {
  template <class... T>
  requires Widens<F, As, T...> std::uint32_t operator()(T... a) const {
    const std::uint32_t low = As::narrow(F()(As::widen(static_cast<std::uint16_t>(a))...));
    const std::uint32_t high = As::narrow(F()(As::widen(static_cast<std::uint16_t>(a >> 16))...));
    return high << 16 | low;
  }
};

}  // namespace gpubench::model::ptx
