// Floating point: PTX ISA, "Floating-Point Instructions", "Half Precision Floating-Point
// Instructions". Approximations are as exact as the C library's.
#include <cmath>
#include <concepts>
#include <limits>

#include "harness/platform/model/ptx/directed.hpp"
#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/numbers.hpp"
#include "harness/platform/model/ptx/small_floats.hpp"

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
template <class F>
struct Saturating {
  template <class... T>
  requires std::invocable<F, T...>
  auto operator()(T... a) const { return saturated(F()(a...)); }
};

// 16 bits: exact or odd in double, then rounded once (small_floats.hpp).
struct OddFma {
  double operator()(double a, double b, double c) const { return odd_sum(a * b, c); }
};
struct OddSub {
  double operator()(double a, double b) const { return odd_sum(a, -b); }
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

Op& add_float(Builder& b, Handler run, std::size_t arity, Tally tally = Tally::nothing) {
  if (run == nullptr) b.unknown();
  Op& op = b.add_simple(run, bytes_of(b.type()), sources_of(b.type(), arity));
  op.count_as = static_cast<std::uint8_t>(tally);
  return op;
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
// The same in the direction that the instruction names, if it does.
template <class F, std::size_t arity>
void add_rounded(Builder& b, Tally tally) {
  Direction how;
  if (b.has("rz")) how.rounding = Rounding::zero;
  if (b.has("rm")) how.rounding = Rounding::down;
  if (b.has("rp")) how.rounding = Rounding::up;
  if (how.rounding == Rounding::nearest) {
    add_float(b, plain_handler<F, arity>(b), arity, tally);
    return;
  }
  const bool is_float = b.type() == Type::f32;
  how.flushes = is_float && b.has("ftz");
  how.saturates = is_float && b.has("sat");
  add_float(b, is_float ? &run_directed<F, float> : &run_directed<F, double>, arity, tally).offset =
      how.packed();
}
template <class F, std::size_t arity>
Handler small_handler(Type type) {
  switch (type) {
    case Type::f16:
      return handler<InSmall<F, AsHalf>, std::uint16_t>(arity);
    case Type::bf16:
      return handler<InSmall<F, AsBfloat>, std::uint16_t>(arity);
    case Type::f16x2:
      return handler<InSmallPair<F, AsHalf>, std::uint32_t>(arity);
    case Type::bf16x2:
      return handler<InSmallPair<F, AsBfloat>, std::uint32_t>(arity);
    default:
      return nullptr;
  }
}
bool is_plain(Type type) { return type == Type::f32 || type == Type::f64; }

// Only what the source calls by its name says how it is rounded: __fadd_rn, and not an operator.
Tally tally_of_sum(Builder& b) {
  if (!is_plain(b.type())) return tally_of(b.type());
  return b.type() == Type::f32 && b.has("rn") ? Tally::add_fp32 : Tally::nothing;
}

// A whole operation: how it is done exactly, and of 16 bits.
template <class F, class OfSmall, std::size_t arity>
void rounded(Builder& b) {
  const Type type = b.type();
  const Tally tally = arity == 3 ? tally_of(type) : tally_of_sum(b);
  b.accept({"rn"});
  if (!is_plain(type)) {
    const bool saturates = (type == Type::f16 || type == Type::f16x2) && b.has("sat");
    add_float(b,
              saturates ? small_handler<Saturating<OfSmall>, arity>(type)
                        : small_handler<OfSmall, arity>(type),
              arity, tally);
    return;
  }
  add_rounded<F, arity>(b, tally);
}
template <class F, std::size_t arity, Tally of_fp32 = Tally::nothing>
void exact(Builder& b) {
  const Type type = b.type();
  add_float(b, is_plain(type) ? plain_handler<F, arity>(b) : small_handler<F, arity>(type), arity,
            type == Type::f32 ? of_fp32 : Tally::nothing);
}

// By the special-function unit, or with its help.
template <class F, std::size_t arity>
void special(Builder& b) {
  const bool is_double = b.type() == Type::f64, is_approximate = b.has("approx");
  b.accept({"rn", "full"});
  if (!is_plain(b.type())) {
    if constexpr (std::is_invocable_v<F, float>) {
      const bool flushes = b.has("ftz");
      add_float(b,
                flushes ? small_handler<InFloat<Flushing<F>>, 1>(b.type())
                        : small_handler<InFloat<F>, 1>(b.type()),
                1, Tally::special);
      return;
    }
  }
  constexpr bool is_reciprocal = std::is_same_v<F, Reciprocal> || std::is_same_v<F, ReciprocalRoot>;
  if constexpr (is_reciprocal) {
    if (is_double && is_approximate && b.has("ftz")) {
      add_float(b, handler<Coarse<F>, double>(1), 1, Tally::special);
      return;
    }
  }
  if (is_double && is_approximate && !std::is_same_v<F, ReciprocalRoot>) b.unknown();
  constexpr bool is_rounded =
      std::is_same_v<F, Reciprocal> || std::is_same_v<F, Root> || std::is_same_v<F, Div>;
  if constexpr (is_rounded) {
    if (!is_approximate) return add_rounded<F, arity>(b, Tally::special);
  }
  add_float(b, plain_handler<F, arity>(b), arity, Tally::special);
}

constexpr Opcode opcodes[] = {
    {"fma", &rounded<Fma, OddFma, 3>},
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
    {"add", &rounded<Add, OddAdd, 2>},
    {"sub", &rounded<Sub, OddSub, 2>},
    {"mul", &rounded<Mul, Mul, 2>},
    {"mad", &rounded<Fma, OddFma, 3>},
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
