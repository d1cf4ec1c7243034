// Integers: PTX ISA, "Integer Arithmetic Instructions", "Logic and Shift Instructions".
#include <algorithm>
#include <bit>
#include <limits>

#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/numbers.hpp"

namespace gpubench::model::ptx {
void build_float_arithmetic(Builder& b);  // of the opcodes that both have

namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
struct TwiceAs;
template <>
struct TwiceAs<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct TwiceAs<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct TwiceAs<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct TwiceAs<std::int32_t> {
  using type = std::int64_t;
};
template <>
struct TwiceAs<std::uint64_t> {
  using type = unsigned __int128;
};
template <>
struct TwiceAs<std::int64_t> {
  using type = __int128;
};
template <class T>
using Twice = typename TwiceAs<T>::type;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Unsigned<T>(a) + Unsigned<T>(b));
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Unsigned<T>(a) - Unsigned<T>(b));
  }
};
struct MulLow {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};
struct MulHigh {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Twice<T>>(a) * static_cast<Twice<T>>(b) >> 8 * sizeof(T));
  }
};
struct MulWide {
  template <class T>
  Twice<T> operator()(T a, T b) const {
    return static_cast<Twice<T>>(a) * static_cast<Twice<T>>(b);
  }
};
struct MadLow {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add()(MulLow()(a, b), c);
  }
};
struct MadHigh {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add()(MulHigh()(a, b), c);
  }
};
struct MadWide {
  template <class T>
  Twice<T> operator()(T a, T b, Twice<T> c) const {
    return Add()(MulWide()(a, b), c);
  }
};
// By zero: "unspecified" to PTX; all ones, as GPUs have it.
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Sub()(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
// What does not fit is the nearest that does.
template <class F>
struct Saturating {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    using Limits = std::numeric_limits<std::int32_t>;
    const std::int64_t exact = F()(std::int64_t{a}, std::int64_t{b});
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(exact, Limits::min(), Limits::max()));
  }
};
template <class F>
struct Relu {
  std::int32_t operator()(std::int32_t a, std::int32_t b) const { return std::max(F()(a, b), 0); }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return Sub()(T{0}, a);
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    return a < 0 ? Sub()(T{0}, a) : a;
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
// Beyond the width all bits are gone (of a signed right shift: all are the sign).
struct Shl {
  template <class T>
  T operator()(T a, std::uint32_t by) const {
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(Unsigned<T>(a) << by);
  }
};
struct Shr {
  template <class T>
  T operator()(T a, std::uint32_t by) const {
    constexpr std::uint32_t most = 8 * sizeof(T) - 1;
    if (by > most) return std::is_signed_v<T> ? static_cast<T>(a >> most) : T{0};
    return static_cast<T>(a >> by);
  }
};
struct Clz {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::countl_zero(a));
  }
};
struct Popc {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::popcount(a));
  }
};
struct Brev {
  template <class T>
  T operator()(T a) const {
    T reversed = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) {
      reversed = static_cast<T>(reversed << 1 | (a >> i & 1));
    }
    return reversed;
  }
};
template <class F>
void binary(Builder& b) {
  const Type type = b.type();
  const unsigned width = bytes_of(type);
  const unsigned sources[] = {width, width};
  const bool known = with_integer(type, [&]<class T>(T) {
    if constexpr (sizeof(T) > 1) b.add_simple(Binary<F, T, T>::handler(), width, sources);
  });
  if (!known || width == 1) b.unknown();
}
template <class F>
void unary(Builder& b) {
  const Type type = b.type();
  const unsigned sources[] = {bytes_of(type)};
  const bool known = with_integer(
      type, [&]<class T>(T) { b.add_simple(Unary<F, T, T>::handler(), bytes_of(type), sources); });
  if (!known) b.unknown();
}
template <class F>
void count_bits(Builder& b) {
  const Type type = as_unsigned(b.type());
  const unsigned sources[] = {bytes_of(type)};
  with_integer(type, [&]<class T>(T) {
    if constexpr (std::is_unsigned_v<T>) {
      b.add_simple(Unary<F, std::uint32_t, T>::handler(), 4, sources);
    }
  });
}
template <class F>
void shift(Builder& b) {
  const Type type = b.type();
  const unsigned sources[] = {bytes_of(type), 4};
  with_integer(type, [&]<class T>(T) {
    b.add_simple(Binary<F, T, T, std::uint32_t>::handler(), bytes_of(type), sources);
  });
}

// Predicates are masks: one word for all lanes.
template <class F>
struct OfMasks {
  static void run(Warp& w, const Op& op, Mask mask) {
    Mask& d = w.predicate(op.d);
    d = (d & ~mask) | (F()(w.predicate(op.a), w.predicate(op.b)) & mask);
  }
};
template <class F>
void logic(Builder& b) {
  if (b.type() != Type::pred) return binary<F>(b);
  const unsigned width = bytes_of(Type::pred);
  const unsigned sources[] = {width, width};
  b.add_simple(&OfMasks<F>::run, width, sources);
}
void invert(Warp& w, const Op& op, Mask mask) {
  Mask& d = w.predicate(op.d);
  d = (d & ~mask) | (~w.predicate(op.a) & mask);
}
void logic_not(Builder& b) {
  if (b.type() != Type::pred) return unary<Not>(b);
  const unsigned sources[] = {bytes_of(Type::pred)};
  b.add_simple(&invert, bytes_of(Type::pred), sources);
}

// `Modified`: what `modifier`, which only s32 may have, makes of it.
template <class F, class Modified>
void modifiable(Builder& b, std::string_view modifier) {
  const unsigned sources[] = {4, 4};
  if (is_float(b.type())) {
    build_float_arithmetic(b);
  } else if (b.type() == Type::s32 && b.has(modifier)) {
    b.add_simple(Binary<Modified, std::int32_t, std::int32_t>::handler(), 4, sources);
  } else {
    binary<F>(b);
  }
}
template <class F>
void sum(Builder& b) {
  if (is_integer(b.type()) && b.has("cc")) return build_with_carry(b);
  modifiable<F, Saturating<F>>(b, "sat");
}
template <class F>
void extreme(Builder& b) {
  modifiable<F, Relu<F>>(b, "relu");
}
void divide(Builder& b) { is_float(b.type()) ? build_float_arithmetic(b) : binary<Div>(b); }
template <class F>
void arithmetic_of_one(Builder& b) {
  is_float(b.type()) ? build_float_arithmetic(b) : unary<F>(b);
}

void multiply(Builder& b) {
  const Type type = b.type();
  if (is_float(type)) return build_float_arithmetic(b);
  if (b.has("lo")) return binary<MulLow>(b);
  if (b.has("hi")) {
    const unsigned width = bytes_of(type);
    const unsigned sources[] = {width, width};
    with_integer(type, [&]<class T>(T) {
      if constexpr (sizeof(T) > 1) b.add_simple(Binary<MulHigh, T, T>::handler(), width, sources);
    });
    return;
  }
  if (!b.has("wide")) b.unknown();
  const unsigned width = bytes_of(type);
  const unsigned sources[] = {width, width};
  with_integer(type, [&]<class T>(T) {
    if constexpr (sizeof(T) == 2 || sizeof(T) == 4) {
      b.add_simple(Binary<MulWide, Twice<T>, T>::handler(), 2 * width, sources);
    }
  });
}

void multiply_add(Builder& b) {
  const Type type = b.type();
  if (is_float(type)) return build_float_arithmetic(b);
  const unsigned width = bytes_of(type);
  const bool wide = b.has("wide"), high = b.has("hi");
  if (b.has("cc")) return build_with_carry(b);
  if (wide + high + b.has("lo") != 1) b.unknown();
  const unsigned sources[] = {width, width, wide ? 2 * width : width};
  const bool known = with_integer(type, [&]<class T>(T) {
    if constexpr (sizeof(T) == 2 || sizeof(T) == 4) {
      if (wide) {
        b.add_simple(Ternary<MadWide, Twice<T>, T>::handler(), 2 * width, sources);
        return;
      }
    }
    if constexpr (sizeof(T) > 1) {
      Op& op =
          b.add_simple(high ? Ternary<MadHigh, T, T>::handler() : Ternary<MadLow, T, T>::handler(),
                       width, sources);
      if (width == 4 && !high) op.count_as = static_cast<std::uint8_t>(Tally::mad_int32);
    }
  });
  if (!known) b.unknown();
}

constexpr Opcode opcodes[] = {
    {"add", &sum<Add>},
    {"sub", &sum<Sub>},
    {"mul", &multiply},
    {"mad", &multiply_add},
    {"div", &divide},
    {"rem", &binary<Rem>},
    {"min", &extreme<Smaller>},
    {"max", &extreme<Larger>},
    {"neg", &arithmetic_of_one<Neg>},
    {"and", &logic<And>},
    {"or", &logic<Or>},
    {"xor", &logic<Xor>},
    {"not", &logic_not},
    {"shl", &shift<Shl>},
    {"shr", &shift<Shr>},
    {"clz", &count_bits<Clz>},
    {"popc", &count_bits<Popc>},
    {"brev", &unary<Brev>},
    {"abs", &arithmetic_of_one<Abs>},
    {"addc", &build_with_carry},
    {"subc", &build_with_carry},
    {"madc", &build_with_carry},
};

}  // namespace

std::span<const Opcode> integer_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
