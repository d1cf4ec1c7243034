// From one type to another: PTX ISA, "cvt", "cvt.pack".
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/numbers.hpp"

namespace gpubench::model::ptx {
namespace {

// To an integer: in what direction; what is beyond its range is its nearest end. NaN is 0 where no
// 64 bits are about, and otherwise the highest bit alone.
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
    if (a != a) {
      constexpr bool is_wide = sizeof(S) == 8 || sizeof(D) == 8;
      return is_wide ? static_cast<D>(std::make_unsigned_t<D>{1} << (8 * sizeof(D) - 1)) : D{0};
    }
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
template <Rounding rounding, bool flushes>
struct Narrow {
  float operator()(double a) const {
    const float narrow = to_float(a, rounding);
    return flushes ? flushed(narrow) : narrow;
  }
};
template <class D, Rounding rounding>
struct FromInteger {
  template <class S>
  D operator()(S a) const {
    const D nearest = static_cast<D>(a);
    if constexpr (rounding == Rounding::nearest) return nearest;
    const auto exact = static_cast<__int128>(a), got = static_cast<__int128>(nearest);
    constexpr D infinity = std::numeric_limits<D>::infinity();
    const bool down = rounding == Rounding::down || (rounding == Rounding::zero && exact > 0);
    if (down && got > exact) return std::nextafter(nearest, -infinity);
    if (!down && got < exact) return std::nextafter(nearest, infinity);
    return nearest;
  }
};
// Sixteen bits of any number, which rounds once: a double holds it, or is odd.
template <const Format* format, Rounding rounding>
struct ToSmall {
  template <class S>
  std::uint16_t operator()(S a) const {
    double x = static_cast<double>(a);
    if constexpr (std::is_integral_v<S> && sizeof(S) == 8) {
      const S low = a & 0xffffffff;
      x = odd_sum(static_cast<double>(a - low), static_cast<double>(low));
    }
    return static_cast<std::uint16_t>(encode(x, *format, rounding, false));
  }
};
struct ToTf32 {  // ties away from zero
  std::uint32_t operator()(float a) const {
    const auto bits = std::bit_cast<std::uint32_t>(a);
    return std::isfinite(a) ? (bits + 0x1000) & 0xffffe000 : bits;
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

// What is converted: how it lies in its register, and what a conversion gets of it.
template <class T>
struct Plain {
  using Stored = T;
  template <class F>
  using With = F;
};
struct FlushedFloat {
  using Stored = float;
  template <class F>
  struct With {
    auto operator()(float a) const { return F()(flushed(a)); }
  };
};
template <const Format* format>
struct Small {
  using Stored = std::uint16_t;
  template <class F>
  struct With {
    auto operator()(std::uint16_t a) const {
      return F()(format == &half ? half_to_float(a) : bfloat16_to_float(a));
    }
  };
  template <class F>
  struct Narrowed {
    std::uint16_t operator()(float a) const { return ToSmall<format, Rounding::nearest>()(F()(a)); }
  };
};
template <class Source, class F, class D>
void add_from(Builder& b) {
  add_conversion<typename Source::template With<F>, D, typename Source::Stored>(b);
}

// Calls `visit` with the constant that the instruction's modifier means.
template <class Visit>
void with_rounding(Builder& b, Visit&& visit) {
  if (b.has("rn")) return visit(std::integral_constant<Rounding, Rounding::nearest>());
  if (b.has("rz")) return visit(std::integral_constant<Rounding, Rounding::zero>());
  if (b.has("rm")) return visit(std::integral_constant<Rounding, Rounding::down>());
  if (b.has("rp")) return visit(std::integral_constant<Rounding, Rounding::up>());
  b.unknown();
}
template <class Visit>
bool with_whole(Builder& b, Visit&& visit) {
  if (b.has("rni")) return visit(std::integral_constant<Whole, Whole::nearest>()), true;
  if (b.has("rzi")) return visit(std::integral_constant<Whole, Whole::zero>()), true;
  if (b.has("rmi")) return visit(std::integral_constant<Whole, Whole::down>()), true;
  if (b.has("rpi")) return visit(std::integral_constant<Whole, Whole::up>()), true;
  return false;
}

template <class Source, class D>
void float_to_integer(Builder& b) {
  b.accept({"sat"});  // as it is anyway
  const bool known = with_whole(b, [&]<Whole way>(std::integral_constant<Whole, way>) {
    add_from<Source, ToInteger<way, D>, D>(b);
  });
  if (!known) b.unknown();
}
// To a whole number of the same type, or to the number itself.
template <class Source>
void float_to_float(Builder& b) {
  using T = typename Source::Stored;
  const bool known = with_whole(b, [&]<Whole way>(std::integral_constant<Whole, way>) {
    if constexpr (std::is_floating_point_v<T>) {
      add_from<Source, ToWhole<way>, T>(b);
    } else {
      add_from<Source, typename Source::template Narrowed<ToWhole<way>>, T>(b);
    }
  });
  if (known) return;
  if constexpr (std::is_same_v<T, float>) {
    return b.has("sat") ? add_from<Source, Clamp, T>(b) : add_from<Source, Cast<T>, T>(b);
  }
  b.unknown();
}
void double_to_float(Builder& b) {
  const bool flushes = b.has("ftz");
  with_rounding(b, [&]<Rounding way>(std::integral_constant<Rounding, way>) {
    flushes ? add_conversion<Narrow<way, true>, float, double>(b)
            : add_conversion<Narrow<way, false>, float, double>(b);
  });
}
template <class Source>
void to_small(Builder& b, bool is_half) {
  with_rounding(b, [&]<Rounding way>(std::integral_constant<Rounding, way>) {
    is_half ? add_from<Source, ToSmall<&half, way>, std::uint16_t>(b)
            : add_from<Source, ToSmall<&bfloat16, way>, std::uint16_t>(b);
  });
}

template <class S>
void from_integer(Builder& b, Type to) {
  if (to == Type::f16 || to == Type::bf16) return to_small<Plain<S>>(b, to == Type::f16);
  if (is_float(to)) {
    if (to != Type::f32 && to != Type::f64) b.unknown();
    with_rounding(b, [&]<Rounding way>(std::integral_constant<Rounding, way>) {
      to == Type::f32 ? add_conversion<FromInteger<float, way>, float, S>(b)
                      : add_conversion<FromInteger<double, way>, double, S>(b);
    });
    return;
  }
  const bool saturates = b.has("sat");
  with_integer(to, [&]<class D>(D) {
    saturates ? add_conversion<SaturatingCast<D>, D, S>(b) : add_conversion<Cast<D>, D, S>(b);
  });
}
template <class Source>
void from_float(Builder& b, Type to, Type from) {
  if (to == from) return float_to_float<Source>(b);
  if (to == Type::f16 || to == Type::bf16) return to_small<Source>(b, to == Type::f16);
  if (to == Type::f64) return add_from<Source, Cast<double>, double>(b);
  if (to == Type::f32) {
    if (from == Type::f64) return double_to_float(b);
    const bool flushes = b.has("ftz") && from == Type::bf16;  // no half is too small
    return flushes ? add_from<Source, Narrow<Rounding::nearest, true>, float>(b)
                   : add_from<Source, Cast<float>, float>(b);
  }
  if constexpr (std::is_same_v<typename Source::Stored, float>) {
    if (to == Type::tf32 && b.has("rna")) return add_from<Source, ToTf32, std::uint32_t>(b);
  }
  const bool known = with_integer(to, [&]<class D>(D) { float_to_integer<Source, D>(b); });
  if (!known) b.unknown();
}

// "cvt.rn.bf16x2.f32 d, a, b": a in the upper half. And the 8-bit pairs.
template <bool is_half>
void pack_halves(Warp& w, const Op& op, Mask mask) {
  auto* const d = w.row<std::uint32_t>(op.d);
  const float* const high = w.row<float>(op.a);
  const float* const low = w.row<float>(op.b);
  const ToSmall<is_half ? &half : &bfloat16, Rounding::nearest> narrow;
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
    b.accept_all_parts();
    if (bytes_of(to) == 4 && from == Type::f32) {
      op.count_as = static_cast<std::uint8_t>(Tally::pack_16x2);
    }
    return true;
  }
  return false;
}

// "cvt.pack.sat.u8.s32.b32 d, a, b, c": b lowest, a, and the lower half of c above them.
template <class T>
void pack_integers(Warp& w, const Op& op, Mask mask) {
  constexpr unsigned bits = 8 * sizeof(T);
  auto* const d = w.row<std::uint32_t>(op.d);
  const auto* const a = w.row<std::int32_t>(op.a);
  const auto* const b = w.row<std::int32_t>(op.b);
  const auto* const c = w.row<std::uint32_t>(op.c);
  const auto narrow = [](std::int32_t x) {
    return static_cast<std::uint32_t>(static_cast<std::make_unsigned_t<T>>(SaturatingCast<T>()(x)));
  };
  for_lanes(mask, [&](unsigned i) {
    const std::uint32_t above = bits == 8 ? c[i] << 16 : 0;
    d[i] = above | narrow(a[i]) << bits | narrow(b[i]);
  });
}
void convert_and_pack(Builder& b) {
  const auto& parts = b.instruction().parts;
  if (!b.has("sat") || parts.size() < 5 || b.type_at(4) != Type::s32) b.unknown();
  const Type to = b.type_at(3);
  const bool of_bytes = bytes_of(to) == 1;
  if (of_bytes && (parts.size() != 6 || b.type_at(5) != Type::b32)) b.unknown();
  const unsigned sources[] = {4, 4, 4};
  const Handler run = to == Type::u8    ? &pack_integers<std::uint8_t>
                      : to == Type::s8  ? &pack_integers<std::int8_t>
                      : to == Type::u16 ? &pack_integers<std::uint16_t>
                      : to == Type::s16 ? &pack_integers<std::int16_t>
                                        : nullptr;
  if (run == nullptr) b.unknown();
  b.add_simple(run, 4, std::span(sources).first(of_bytes ? 3 : 2));
}

void convert(Builder& b) {
  if (b.has("pack")) return convert_and_pack(b);
  const auto& parts = b.instruction().parts;
  if (parts.size() < 3) b.unknown();
  const Type to = b.type_at(parts.size() - 2), from = b.type_at(parts.size() - 1);
  if (convert_pair(b, to, from)) return;
  switch (from) {
    case Type::f32:
      return b.has("ftz") ? from_float<FlushedFloat>(b, to, from)
                          : from_float<Plain<float>>(b, to, from);
    case Type::f64:
      return from_float<Plain<double>>(b, to, from);
    case Type::f16:
      return from_float<Small<&half>>(b, to, from);
    case Type::bf16:
      return from_float<Small<&bfloat16>>(b, to, from);
    default:
      break;
  }
  if (!with_integer(from, [&]<class S>(S) { from_integer<S>(b, to); })) b.unknown();
}

constexpr Opcode opcodes[] = {{"cvt", &convert}};

}  // namespace

std::span<const Opcode> convert_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
