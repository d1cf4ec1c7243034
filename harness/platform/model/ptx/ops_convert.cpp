// From one type to another: PTX ISA, "cvt", "mov", "cvta".
#include <cmath>
#include <limits>

#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/numbers.hpp"
#include "harness/platform/model/ptx/windows.hpp"

namespace gpubench::model::ptx {
namespace {

// To an integer: in what direction; what is beyond its range is its nearest end, and NaN 0.
enum class Whole { nearest, zero, down, up };
template <Whole direction, class T>
T whole(T x) {
  if constexpr (direction == Whole::nearest) return std::nearbyint(x);
  if constexpr (direction == Whole::zero) return std::trunc(x);
  if constexpr (direction == Whole::down) return std::floor(x);
  return std::ceil(x);
}
template <Whole direction, class D>
struct ToInteger {
  template <class S>
  D operator()(S a) const {
    if (a != a)
      return std::is_same_v<S, double> && sizeof(D) == 8 ? std::numeric_limits<D>::min() : D{0};
    const S x = whole<direction>(a);
    constexpr S beyond = static_cast<S>((std::numeric_limits<D>::max() >> 1) + 1) * 2;
    if (x >= beyond) return std::numeric_limits<D>::max();
    if (x < static_cast<S>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
    return static_cast<D>(x);
  }
};
template <Whole direction>
struct ToWhole {
  template <class S>
  S operator()(S a) const {
    return whole<direction>(a);
  }
};
template <class D>
struct Cast {
  template <class S>
  D operator()(S a) const {
    return static_cast<D>(a);
  }
};
template <class D>
struct SaturatingCast {
  template <class S>
  D operator()(S a) const {
    if (std::cmp_less(a, std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
    if (std::cmp_greater(a, std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
    return static_cast<D>(a);
  }
};
struct Clamp {  // cvt.sat.f32.f32
  float operator()(float a) const { return a >= 0 ? (a > 1 ? 1.0f : a) : 0.0f; }
};
template <Rounding rounding>
struct Narrow {
  float operator()(double a) const { return to_float(a, rounding); }
};
template <class As>
struct Widen {
  float operator()(std::uint16_t a) const { return As()(a); }
};
struct FromHalf {
  float operator()(std::uint16_t a) const { return half_to_float(a); }
};
struct FromBfloat {
  float operator()(std::uint16_t a) const { return bfloat16_to_float(a); }
};
// Sixteen bits of any number.
template <bool is_half, Rounding rounding>
struct ToSmall {
  template <class S>
  std::uint16_t operator()(S a) const {
    return static_cast<std::uint16_t>(
        encode(static_cast<double>(a), is_half ? half : bfloat16, rounding, false));
  }
};

// Where registers are wider than what the instruction names. The result fills its register.
template <class F, class D, class S>
void convert_in_place(Warp& w, const Op& op, Mask mask) {
  const std::uint32_t to_bytes = op.extra->destinations[0].bytes;
  const std::uint32_t from_bytes = op.extra->sources[0].bytes;
  std::byte* const d = w.row<std::byte>(op.d);
  const std::byte* const a = w.row<std::byte>(op.a);
  for_lanes(mask, [&](unsigned i) {
    S from;
    std::memcpy(&from, a + i * from_bytes, sizeof from);
    const D to = F()(from);
    std::uint64_t bits = 0;
    if constexpr (std::is_integral_v<D>) {
      bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(to));
      if constexpr (std::is_unsigned_v<D>) bits = to;
    } else {
      std::memcpy(&bits, &to, sizeof to);
    }
    std::memcpy(d + i * to_bytes, &bits, to_bytes);
  });
}

template <class F, class D, class S>
void add_conversion(Builder& b) {
  const Register d = b.destination(b.operand(0), sizeof(D));
  const Register a = b.source(b.operand(1), sizeof(S));
  if (d.bytes < sizeof(D) || a.bytes < sizeof(S)) b.refuse("has a register too narrow");
  const bool fits = d.bytes == sizeof(D) && a.bytes == sizeof(S);
  Op& op = b.add(fits ? Unary<F, D, S>::handler() : &convert_in_place<F, D, S>);
  Builder::set_destination(op, d);
  Builder::set_a(op, a);
  if (fits) return;
  Extra& extra = b.extra();
  extra.destinations = {d};
  extra.sources = {a};
  op.extra = &extra;
}

template <class S, class D>
void float_to_integer(Builder& b) {
  const Instruction& i = b.instruction();
  if (i.has("rni")) return add_conversion<ToInteger<Whole::nearest, D>, D, S>(b);
  if (i.has("rzi")) return add_conversion<ToInteger<Whole::zero, D>, D, S>(b);
  if (i.has("rmi")) return add_conversion<ToInteger<Whole::down, D>, D, S>(b);
  if (i.has("rpi")) return add_conversion<ToInteger<Whole::up, D>, D, S>(b);
  b.unknown();
}
template <class T>
void float_to_whole(Builder& b) {
  const Instruction& i = b.instruction();
  if (i.has("rni")) return add_conversion<ToWhole<Whole::nearest>, T, T>(b);
  if (i.has("rzi")) return add_conversion<ToWhole<Whole::zero>, T, T>(b);
  if (i.has("rmi")) return add_conversion<ToWhole<Whole::down>, T, T>(b);
  if (i.has("rpi")) return add_conversion<ToWhole<Whole::up>, T, T>(b);
  if constexpr (std::is_same_v<T, float>) {
    if (i.has("sat") && i.parts.size() == 4) return add_conversion<Clamp, T, T>(b);
  }
  b.unknown();
}
void double_to_float(Builder& b) {
  const Instruction& i = b.instruction();
  if (i.has("rn")) return add_conversion<Cast<float>, float, double>(b);
  if (i.has("rz")) return add_conversion<Narrow<Rounding::zero>, float, double>(b);
  if (i.has("rm")) return add_conversion<Narrow<Rounding::down>, float, double>(b);
  if (i.has("rp")) return add_conversion<Narrow<Rounding::up>, float, double>(b);
  b.unknown();
}
template <class S>
void to_small(Builder& b, bool is_half) {
  const Instruction& i = b.instruction();
  if (i.has("sat") || i.has("satfinite") || i.has("relu")) b.unknown();
  if (i.has("rz")) {
    return is_half ? add_conversion<ToSmall<true, Rounding::zero>, std::uint16_t, S>(b)
                   : add_conversion<ToSmall<false, Rounding::zero>, std::uint16_t, S>(b);
  }
  if (!i.has("rn")) b.unknown();
  is_half ? add_conversion<ToSmall<true, Rounding::nearest>, std::uint16_t, S>(b)
          : add_conversion<ToSmall<false, Rounding::nearest>, std::uint16_t, S>(b);
}

template <class S>
void from_integer(Builder& b, Type to) {
  const bool saturates = b.instruction().has("sat");
  if (to == Type::f32 && b.instruction().has("rn")) return add_conversion<Cast<float>, float, S>(b);
  if (to == Type::f64) return add_conversion<Cast<double>, double, S>(b);
  if (to == Type::f16 || to == Type::bf16) {
    if constexpr (sizeof(S) < 8) return to_small<S>(b, to == Type::f16);
  }
  const bool known = with_integer(to, [&]<class D>(D) {
    saturates ? add_conversion<SaturatingCast<D>, D, S>(b) : add_conversion<Cast<D>, D, S>(b);
  });
  if (!known) b.unknown();
}
template <class S>
void from_float(Builder& b, Type to) {
  constexpr bool is_double = std::is_same_v<S, double>;
  if (to == (is_double ? Type::f64 : Type::f32)) return float_to_whole<S>(b);
  if (to == Type::f16 || to == Type::bf16) return to_small<S>(b, to == Type::f16);
  if constexpr (is_double) {
    if (to == Type::f32) return double_to_float(b);
  } else {
    if (to == Type::f64) return add_conversion<Cast<double>, double, float>(b);
  }
  const bool known = with_integer(to, [&]<class D>(D) { float_to_integer<S, D>(b); });
  if (!known) b.unknown();
}

// "cvt.rn.bf16x2.f32 d, a, b": a in the upper half. And the 8-bit pairs.
template <bool is_half>
void pack_halves(Warp& w, const Op& op, Mask mask) {
  auto* const d = w.row<std::uint32_t>(op.d);
  const float* const high = w.row<float>(op.a);
  const float* const low = w.row<float>(op.b);
  const ToSmall<is_half, Rounding::nearest> narrow;
  for_lanes(mask, [&](unsigned i) {
    d[i] = static_cast<std::uint32_t>(narrow(high[i])) << 16 | narrow(low[i]);
  });
}
template <bool is_e4m3>
void pack_bytes(Warp& w, const Op& op, Mask mask) {
  auto* const d = w.row<std::uint16_t>(op.d);
  const float* const high = w.row<float>(op.a);
  const float* const low = w.row<float>(op.b);
  const auto narrow = [](float x) {
    return encode(x, is_e4m3 ? e4m3 : e5m2, Rounding::nearest, true);
  };
  for_lanes(mask, [&](unsigned i) {
    d[i] = static_cast<std::uint16_t>(narrow(high[i]) << 8 | narrow(low[i]));
  });
}
template <bool is_e4m3>
void unpack_bytes(Warp& w, const Op& op, Mask mask) {
  auto* const d = w.row<std::uint32_t>(op.d);
  const auto* const a = w.row<std::uint16_t>(op.a);
  const auto widen = [](unsigned bits) {
    return encode(decode(bits, is_e4m3 ? e4m3 : e5m2), half, Rounding::nearest, false);
  };
  for_lanes(mask, [&](unsigned i) { d[i] = widen(a[i] >> 8) << 16 | widen(a[i] & 0xff); });
}

struct PairConversion {
  std::string_view modifiers;  // all between "cvt." and the types
  Type to, from;
  Handler run;
};
constexpr PairConversion pair_conversions[] = {
    {"rn", Type::f16x2, Type::f32, &pack_halves<true>},
    {"rn", Type::bf16x2, Type::f32, &pack_halves<false>},
    {"rn.satfinite", Type::e4m3x2, Type::f32, &pack_bytes<true>},
    {"rn.satfinite", Type::e5m2x2, Type::f32, &pack_bytes<false>},
    {"rn", Type::f16x2, Type::e4m3x2, &unpack_bytes<true>},
    {"rn", Type::f16x2, Type::e5m2x2, &unpack_bytes<false>},
};
bool convert_pair(Builder& b, Type to, Type from) {
  std::string modifiers;
  for (std::size_t i = 1; i + 2 < b.instruction().parts.size(); ++i) {
    modifiers += (i > 1 ? "." : "") + b.instruction().parts[i];
  }
  for (const PairConversion& c : pair_conversions) {
    if (c.to != to || c.from != from || c.modifiers != modifiers) continue;
    const unsigned sources[] = {bytes_of(from), bytes_of(from)};
    Op& op = b.add_simple(c.run, bytes_of(to), std::span(sources).first(from == Type::f32 ? 2 : 1));
    if (bytes_of(to) == 4 && from == Type::f32) {
      op.count_as = static_cast<std::uint8_t>(Tally::pack_16x2);
    }
    return true;
  }
  return false;
}

void convert(Builder& b) {
  const auto& parts = b.instruction().parts;
  if (parts.size() < 3) b.unknown();
  const Type to = b.type_at(parts.size() - 2), from = b.type_at(parts.size() - 1);
  if (convert_pair(b, to, from)) return;
  if (from == Type::f32) return from_float<float>(b, to);
  if (from == Type::f64) return from_float<double>(b, to);
  if (from == Type::f16 && to == Type::f32)
    return add_conversion<Widen<FromHalf>, float, std::uint16_t>(b);
  if (from == Type::bf16 && to == Type::f32)
    return add_conversion<Widen<FromBfloat>, float, std::uint16_t>(b);
  const bool known = with_integer(from, [&]<class S>(S) { from_integer<S>(b, to); });
  if (!known) b.unknown();
}

struct Copy {
  template <class T>
  T operator()(T a) const {
    return a;
  }
};
void copy_mask(Warp& w, const Op& op, Mask mask) {
  Mask& d = w.predicate(op.d);
  d = (d & ~mask) | (w.predicate(op.a) & mask);
}

// Several registers to one, or one to several, the first of them lowest.
void pack(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  for_lanes(mask, [&](unsigned i) {
    std::uint64_t bits = 0;
    unsigned at = 0;
    for (const Register& r : e.sources) {
      bits |= w.value(r, i) << at;
      at += 8 * r.bytes;
    }
    w.set_value(e.destinations[0], i, bits);
  });
  Mask& defined = w.defined(e.destinations[0].number);
  defined = (defined & ~mask) | w.defined_in(e.sources, mask);
}
void unpack(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const Mask known = w.defined_in(e.sources, mask);
  unsigned at = 0;
  for (const Register& r : e.destinations) {
    if (r.number != nowhere) {
      for_lanes(mask, [&](unsigned i) { w.set_value(r, i, w.value(e.sources[0], i) >> at); });
      Mask& defined = w.defined(r.number);
      defined = (defined & ~mask) | known;
    }
    at += 8 * r.bytes;
  }
}

void move(Builder& b) {
  const Type type = b.type();
  const unsigned width = bytes_of(type);
  const Operand &to = b.operand(0), &from = b.operand(1);
  const bool packs = from.kind == Operand::Kind::vector;
  if (packs || to.kind == Operand::Kind::vector) {
    const auto count = static_cast<unsigned>((packs ? from : to).elements.size());
    Extra& extra = b.extra();
    extra.destinations = b.vector_of(to, packs ? width : width / count, true);
    extra.sources = b.vector_of(from, packs ? width / count : width, false);
    Op& op = b.add(packs ? &pack : &unpack);
    op.defines_itself = true;
    op.extra = &extra;
    return;
  }
  const unsigned sources[] = {width};
  if (type == Type::pred) {
    b.add_simple(&copy_mask, width, sources);
    return;
  }
  with_integer(as_unsigned(type),
               [&]<class T>(T) { b.add_simple(Unary<Copy, T, T>::handler(), width, sources); });
}

// Addresses in a space and generic ones differ by where the space's window is.
struct Added {
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a + b; }
};
void convert_address(Builder& b) {
  const Instruction& i = b.instruction();
  const bool is_narrow = b.type() == Type::u32;
  std::uint64_t window = 0;
  if (i.has("shared") || i.has("shared::cta")) window = shared_window;
  if (i.has("local")) window = local_window;
  if (i.has("param")) window = parameter_window;
  if (is_narrow || (window == 0 && !i.has("global") && !i.has("const"))) b.unknown();
  Op& op = b.add(Binary<Added, std::uint64_t, std::uint64_t>::handler());
  Builder::set_destination(op, b.destination(b.operand(0), 8));
  Builder::set_a(op, b.source(b.operand(1), 8));
  Builder::set_b(op, b.constant(i.has("to") ? ~window + 1 : window, 8));
}

constexpr Opcode opcodes[] = {{"cvt", &convert}, {"mov", &move}, {"cvta", &convert_address}};

}  // namespace

std::span<const Opcode> convert_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
