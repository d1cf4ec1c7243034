// Floating point: PTX ISA, "Floating-Point Instructions", "Half Precision Floating-Point
// Instructions". Approximations are as exact as the C library's.
#include <cmath>
#include <concepts>
#include <limits>

#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/numbers.hpp"

namespace gpubench::model::ptx {
namespace {

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct Fma {
  float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
  double operator()(double a, double b, double c) const { return __builtin_fma(a, b, c); }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
// What is no number loses; -0 is below +0.
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return a < b || b != b || (a == b && std::signbit(a)) ? a : b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a > b || b != b || (a == b && std::signbit(b)) ? a : b;
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return -a;
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    return std::fabs(a);
  }
};
// "copies the sign bit of a into the value of b"
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};
struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return 1 / a;
  }
};
struct Root {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct ReciprocalRoot {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(1 / std::sqrt(static_cast<double>(a)));
  }
};
// The double's upper half alone is looked at and given (PTX ISA, "rcp.approx.ftz.f64",
// "rsqrt.approx.ftz.f64").
template <class F>
struct Coarse {
  double operator()(double a) const {
    constexpr std::uint64_t upper = ~std::uint64_t{0} << 32;
    const double coarse = std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & upper);
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(F()(flushed(coarse))) & upper);
  }
};
struct Exp2 {
  float operator()(float a) const { return std::exp2(a); }
};
struct Log2 {
  float operator()(float a) const { return std::log2(a); }
};
struct Sine {
  float operator()(float a) const { return std::sin(a); }
};
struct Cosine {
  float operator()(float a) const { return std::cos(a); }
};
struct Tanh {
  float operator()(float a) const { return std::tanh(a); }
};

template <class F>
struct Flushing {
  template <class... T>
  requires std::invocable<F, T...>
  auto operator()(T... a) const { return flushed(F()(flushed(a)...)); }
};
// Takes a number of 16 bits as a float.
template <class F>
struct InFloat {
  double operator()(double a) const { return F()(static_cast<float>(a)); }
};
// Between 0 and 1; what is no number is 0.
template <class F>
struct Saturating {
  template <class... T>
  requires std::invocable<F, T...>
  auto operator()(T... a) const {
    const auto x = F()(a...);
    return x >= 0 ? (x > 1 ? decltype(x)(1) : x) : decltype(x)(0);
  }
};

// float in another direction than to nearest, by way of doubles that know what they lost.
template <Rounding rounding>
struct DirectedFma {
  float operator()(float a, float b, float c) const {
    return sum_to_float(static_cast<double>(a) * b, c, rounding);
  }
};
template <Rounding rounding>
struct DirectedAdd {
  float operator()(float a, float b) const { return sum_to_float(a, b, rounding); }
};
template <Rounding rounding>
struct DirectedMul {
  float operator()(float a, float b) const {
    return to_float(static_cast<double>(a) * b, rounding);
  }
};

// 16 bits: exact or odd in double, then rounded once.
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
struct OddFma {
  double operator()(double a, double b, double c) const { return odd_sum(a * b, c); }
};
struct OddAdd {
  double operator()(double a, double b) const { return odd_sum(a, b); }
};
struct OddSub {
  double operator()(double a, double b) const { return odd_sum(a, -b); }
};
template <class F, class As, class... T>
concept Widens = requires(F f, T... a) {
  f(As::widen(static_cast<std::uint16_t>(a))...);
};
template <class F, class As>
struct Small {
  template <class... T>
  requires Widens<F, As, T...> std::uint16_t operator()(T... a) const {
    return As::narrow(F()(As::widen(a)...));
  }
};
template <class F, class As>
struct SmallPair {
  template <class... T>
  requires Widens<F, As, T...> std::uint32_t operator()(T... a) const {
    const std::uint32_t low = As::narrow(F()(As::widen(static_cast<std::uint16_t>(a))...));
    const std::uint32_t high = As::narrow(F()(As::widen(static_cast<std::uint16_t>(a >> 16))...));
    return high << 16 | low;
  }
};

constexpr unsigned widths[][3] = {{2, 2, 2}, {4, 4, 4}, {8, 8, 8}};
std::span<const unsigned> sources_of(Type type, std::size_t count) {
  const unsigned bytes = bytes_of(type);
  return std::span(widths[bytes == 2 ? 0 : bytes == 4 ? 1 : 2]).first(count);
}

template <class F, class T>
Handler handler(std::size_t arity) {
  if constexpr (std::is_invocable_v<F, T>) {
    if (arity == 1) return Unary<F, T, T>::handler();
  }
  if constexpr (std::is_invocable_v<F, T, T>) {
    if (arity == 2) return Binary<F, T, T>::handler();
  }
  if constexpr (std::is_invocable_v<F, T, T, T>) {
    if (arity == 3) return Ternary<F, T, T>::handler();
  }
  return nullptr;
}

Tally tally_of(Type type) {
  switch (type) {
    case Type::f32:
      return Tally::fma_fp32;
    case Type::f64:
      return Tally::fma_fp64;
    case Type::f16:
    case Type::f16x2:
      return Tally::fma_fp16x2;
    default:
      return Tally::fma_bf16x2;
  }
}

void add_float(Builder& b, Handler run, std::size_t arity, Tally tally = Tally::nothing) {
  if (run == nullptr) b.unknown();
  Op& op = b.add_simple(run, bytes_of(b.type()), sources_of(b.type(), arity));
  op.count_as = static_cast<std::uint8_t>(tally);
}

// Float and double with the modifiers that both know.
template <class F, std::size_t arity>
Handler plain_handler(Builder& b) {
  if (b.type() == Type::f64) return handler<F, double>(arity);
  const bool ftz = b.has("ftz"), sat = b.has("sat");
  if (ftz && sat) return handler<Saturating<Flushing<F>>, float>(arity);
  if (ftz) return handler<Flushing<F>, float>(arity);
  if (sat) return handler<Saturating<F>, float>(arity);
  return handler<F, float>(arity);
}
template <template <Rounding> class F, std::size_t arity>
Handler directed_handler(Builder& b) {
  if (b.type() != Type::f32) return nullptr;
  const auto found = [&]<class Rounded>(Rounded) {
    return b.has("ftz") ? handler<Flushing<Rounded>, float>(arity) : handler<Rounded, float>(arity);
  };
  if (b.has("rz")) return found(F<Rounding::zero>());
  if (b.has("rm")) return found(F<Rounding::down>());
  return found(F<Rounding::up>());
}
template <class F, std::size_t arity>
Handler small_handler(Type type) {
  switch (type) {
    case Type::f16:
      return handler<Small<F, AsHalf>, std::uint16_t>(arity);
    case Type::bf16:
      return handler<Small<F, AsBfloat>, std::uint16_t>(arity);
    case Type::f16x2:
      return handler<SmallPair<F, AsHalf>, std::uint32_t>(arity);
    case Type::bf16x2:
      return handler<SmallPair<F, AsBfloat>, std::uint32_t>(arity);
    default:
      return nullptr;
  }
}
bool is_directed(Builder& b) { return b.has("rz") || b.has("rm") || b.has("rp"); }
bool is_plain(Type type) { return type == Type::f32 || type == Type::f64; }

// Only what the source calls by its name says how it is rounded: __fadd_rn, and not an operator.
Tally tally_of_sum(Builder& b) {
  if (!is_plain(b.type())) return tally_of(b.type());
  return b.type() == Type::f32 && b.has("rn") ? Tally::add_fp32 : Tally::nothing;
}

// A whole operation: how it is done exactly, in another direction, and of 16 bits.
template <class F, template <Rounding> class Directed, class OfSmall, std::size_t arity>
void rounded(Builder& b) {
  const Type type = b.type();
  const Tally tally = arity == 3 ? tally_of(type) : tally_of_sum(b);
  b.accept({"rn"});
  if (!is_plain(type)) return add_float(b, small_handler<OfSmall, arity>(type), arity, tally);
  add_float(b, is_directed(b) ? directed_handler<Directed, arity>(b) : plain_handler<F, arity>(b),
            arity, tally);
}
template <class F, std::size_t arity, Tally of_fp32 = Tally::nothing>
void exact(Builder& b) {
  const Type type = b.type();
  add_float(b, is_plain(type) ? plain_handler<F, arity>(b) : small_handler<F, arity>(type), arity,
            type == Type::f32 ? of_fp32 : Tally::nothing);
}
template <Rounding rounding>
struct DirectedSub {
  float operator()(float a, float b) const { return sum_to_float(a, -b, rounding); }
};

// By the special-function unit, or with its help.
template <class F, std::size_t arity>
void special(Builder& b) {
  const bool is_double = b.type() == Type::f64, is_approximate = b.has("approx");
  b.accept({"rn", "full"});
  if (!is_plain(b.type())) {
    if constexpr (std::is_invocable_v<F, float>) {
      const bool flushes = b.has("ftz");
      return add_float(b,
                       flushes ? small_handler<InFloat<Flushing<F>>, 1>(b.type())
                               : small_handler<InFloat<F>, 1>(b.type()),
                       1, Tally::special);
    }
  }
  constexpr bool is_reciprocal = std::is_same_v<F, Reciprocal> || std::is_same_v<F, ReciprocalRoot>;
  if constexpr (is_reciprocal) {
    if (is_double && is_approximate && b.has("ftz")) {
      return add_float(b, handler<Coarse<F>, double>(1), 1, Tally::special);
    }
  }
  if (is_double && is_approximate && !std::is_same_v<F, ReciprocalRoot>) b.unknown();
  add_float(b, plain_handler<F, arity>(b), arity, Tally::special);
}

constexpr Opcode opcodes[] = {
    {"fma", &rounded<Fma, DirectedFma, OddFma, 3>},
    {"copysign", &exact<CopySign, 2>},
    {"rcp", &special<Reciprocal, 1>},
    {"sqrt", &special<Root, 1>},
    {"rsqrt", &special<ReciprocalRoot, 1>},
    {"ex2", &special<Exp2, 1>},
    {"lg2", &special<Log2, 1>},
    {"sin", &special<Sine, 1>},
    {"cos", &special<Cosine, 1>},
    {"tanh", &special<Tanh, 1>},
};
// Opcodes that integers have too.
constexpr Opcode shared_opcodes[] = {
    {"add", &rounded<Add, DirectedAdd, OddAdd, 2>},
    {"sub", &rounded<Sub, DirectedSub, OddSub, 2>},
    {"mul", &rounded<Mul, DirectedMul, Mul, 2>},
    {"mad", &rounded<Fma, DirectedFma, OddFma, 3>},
    {"div", &special<Div, 2>},
    {"min", &exact<Min, 2, Tally::max_fp32>},
    {"max", &exact<Max, 2, Tally::max_fp32>},
    {"neg", &exact<Neg, 1>},
    {"abs", &exact<Abs, 1>},
};

}  // namespace

std::span<const Opcode> float_opcodes() { return opcodes; }

void build_float_arithmetic(Builder& b) {
  for (const Opcode& opcode : shared_opcodes) {
    if (opcode.name == b.instruction().parts[0]) return opcode.build(b);
  }
  b.unknown();
}

}  // namespace gpubench::model::ptx
