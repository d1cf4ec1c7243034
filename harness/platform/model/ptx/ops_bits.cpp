// Fields of bits and bytes: PTX ISA, "prmt", "bfe", "bfi", "bfind", "shf", "lop3", "dp4a", "dp2a",
// "sad".
#include <algorithm>
#include <bit>

#include "harness/platform/model/ptx/handlers.hpp"

namespace gpubench::model::ptx {
namespace {

// Each of the four result bytes is the one of eight that its selector names; the selector's
// highest bit means eight times that byte's sign.
struct Prmt {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint64_t both = std::uint64_t{b} << 32 | a;
    std::uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned selector = c >> 4 * i & 15;
      std::uint32_t byte = both >> 8 * (selector & 7) & 0xff;
      if (selector & 8) byte = byte & 0x80 ? 0xff : 0;
      result |= byte << 8 * i;
    }
    return result;
  }
};

void permute_bytes(Builder& b) {
  b.accept({"b32"});
  const unsigned sources[] = {4, 4, 4};
  b.add_simple(Ternary<Prmt, std::uint32_t, std::uint32_t>::handler(), 4, sources);
}

// Where a field begins and how long it is stand in the lowest byte of two operands.
template <class T>
struct Extract {
  T operator()(T a, std::uint32_t begin, std::uint32_t length) const {
    using Bits = std::make_unsigned_t<T>;
    constexpr unsigned width = 8 * sizeof(T);
    const unsigned from = begin & 0xff, count = length & 0xff;
    if (count == 0) return 0;
    const unsigned inside = from >= width ? 0 : std::min(count, width - from);
    const Bits ones =
        inside == width ? static_cast<Bits>(~Bits{0}) : static_cast<Bits>((Bits{1} << inside) - 1);
    const Bits field = inside == 0 ? Bits{0} : static_cast<Bits>(static_cast<Bits>(a) >> from);
    const bool extends = std::is_signed_v<T> && (a >> (std::min(from + count, width) - 1) & 1) != 0;
    return static_cast<T>((field & ones) | (extends ? ~ones : Bits{0}));
  }
};
void extract_field(Builder& b) {
  const Type type = b.type();
  const unsigned width = bytes_of(type);
  const unsigned sources[] = {width, 4, 4};
  with_integer(type, [&]<class T>(T) {
    if constexpr (sizeof(T) >= 4) {
      b.add_simple(Ternary<Extract<T>, T, T, std::uint32_t, std::uint32_t>::handler(), width,
                   sources);
    }
  });
}

template <class T>
void insert_bits(Warp& w, const Op& op, Mask mask) {
  constexpr unsigned width = 8 * sizeof(T);
  T* const d = w.row<T>(op.d);
  const T* const field = w.row<T>(op.a);
  const T* const into = w.row<T>(op.b);
  const auto* const begin = w.row<std::uint32_t>(op.c);
  const Register& length_register = op.extra->sources[0];
  w.require(length_register.number, mask, "a length of bits");
  for_lanes(mask, [&](unsigned i) {
    const unsigned from = begin[i] & 0xff;
    const auto length = static_cast<unsigned>(w.value(length_register, i) & 0xff);
    T ones = length >= width ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
    ones = from >= width ? T{0} : static_cast<T>(ones << from);
    const T shifted = from >= width ? T{0} : static_cast<T>(field[i] << from);
    d[i] = static_cast<T>((into[i] & ~ones) | (shifted & ones));
  });
}
void insert_field(Builder& b) {
  const unsigned width = bytes_of(b.type());
  Op& op = b.add(width == 8 ? &insert_bits<std::uint64_t> : &insert_bits<std::uint32_t>);
  Builder::set_destination(op, b.destination(b.operand(0), width));
  Builder::set_a(op, b.source(b.operand(1), width));
  Builder::set_b(op, b.source(b.operand(2), width));
  Builder::set_c(op, b.source(b.operand(3), 4));
  Extra& extra = b.extra();
  extra.sources = {b.source(b.operand(4), 4)};
  op.extra = &extra;
}

// The highest bit that is not the sign's, by its place or by how far it is from the top.
template <bool from_top>
struct FindBit {
  template <class T>
  std::uint32_t operator()(T a) const {
    using Bits = std::make_unsigned_t<T>;
    const auto bits = static_cast<Bits>(a < 0 ? ~a : a);
    if (bits == 0) return ~std::uint32_t{0};
    const auto above = static_cast<std::uint32_t>(std::countl_zero(bits));
    return from_top ? above : static_cast<std::uint32_t>(8 * sizeof(T) - 1) - above;
  }
};
void find_bit(Builder& b) {
  const Type type = b.type();
  const unsigned sources[] = {bytes_of(type)};
  const bool from_top = b.has("shiftamt");
  with_integer(type, [&]<class T>(T) {
    if constexpr (sizeof(T) >= 4) {
      b.add_simple(from_top ? Unary<FindBit<true>, std::uint32_t, T>::handler()
                            : Unary<FindBit<false>, std::uint32_t, T>::handler(),
                   4, sources);
    }
  });
}

// Half of what a, below b, is when both are shifted as one number.
template <bool left, bool clamps>
struct Funnel {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint64_t both = std::uint64_t{b} << 32 | a;
    const std::uint32_t by = clamps ? std::min(c, 32u) : c & 31;
    return static_cast<std::uint32_t>(left ? both << by >> 32 : both >> by);
  }
};
void funnel_shift(Builder& b) {
  const bool left = b.has("l"), clamps = b.has("clamp");
  if (left == b.has("r") || clamps == b.has("wrap") || b.type() != Type::b32) b.unknown();
  const auto handler = []<class F>(F) {
    return Ternary<F, std::uint32_t, std::uint32_t>::handler();
  };
  const unsigned sources[] = {4, 4, 4};
  b.add_simple(left ? (clamps ? handler(Funnel<true, true>()) : handler(Funnel<true, false>()))
                    : (clamps ? handler(Funnel<false, true>()) : handler(Funnel<false, false>())),
               4, sources);
}

// Bit by bit what the table, an immediate, says of the three bits.
void look_up_bits(Warp& w, const Op& op, Mask mask) {
  auto* const d = w.row<std::uint32_t>(op.d);
  const auto* const a = w.row<std::uint32_t>(op.a);
  const auto* const b = w.row<std::uint32_t>(op.b);
  const auto* const c = w.row<std::uint32_t>(op.c);
  for_lanes(mask, [&](unsigned i) {
    std::uint32_t result = 0;
    for (unsigned k = 0; k < 8; ++k) {
      if ((op.offset >> k & 1) == 0) continue;
      result |= (k & 4 ? a[i] : ~a[i]) & (k & 2 ? b[i] : ~b[i]) & (k & 1 ? c[i] : ~c[i]);
    }
    d[i] = result;
  });
}
void combine_bits(Builder& b) {
  if (b.type() != Type::b32 || b.operand(4).kind != Operand::Kind::immediate) b.unknown();
  Op& op = b.add(&look_up_bits);
  op.offset = static_cast<std::int64_t>(b.operand(4).bits);
  Builder::set_destination(op, b.destination(b.operand(0), 4));
  Builder::set_a(op, b.source(b.operand(1), 4));
  Builder::set_b(op, b.source(b.operand(2), 4));
  Builder::set_c(op, b.source(b.operand(3), 4));
}

// c and the products of a's elements, of A each, by as many bytes of b, from `first` on.
template <class A, class B, unsigned first>
struct DotProduct {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    constexpr unsigned elements = 4 / sizeof(A);
    for (unsigned i = 0; i < elements; ++i) {
      const auto of_a = static_cast<A>(a >> 8 * sizeof(A) * i);
      using Byte = std::conditional_t<std::is_signed_v<B>, std::int8_t, std::uint8_t>;
      const auto of_b = static_cast<Byte>(b >> 8 * (first + i));
      c += static_cast<std::uint32_t>(of_a * of_b);
    }
    return c;
  }
};
template <unsigned bytes, unsigned first>
void dot_product(Builder& b) {
  const auto& parts = b.instruction().parts;
  const Type type_a = b.type_at(parts.size() - 2), type_b = b.type_at(parts.size() - 1);
  const unsigned sources[] = {4, 4, 4};
  with_integer(type_a, [&]<class Wide>(Wide) {
    with_integer(type_b, [&]<class B>(B) {
      if constexpr (sizeof(Wide) == 4 && sizeof(B) == 4) {
        using Element = std::conditional_t<bytes == 1, std::int8_t, std::int16_t>;
        using A =
            std::conditional_t<std::is_signed_v<Wide>, Element, std::make_unsigned_t<Element>>;
        b.add_simple(Ternary<DotProduct<A, B, first>, std::uint32_t, std::uint32_t>::handler(), 4,
                     sources);
      }
    });
  });
}
void dot_product_of_halves(Builder& b) {
  const bool low = b.has("lo");
  if (low == b.has("hi")) b.unknown();
  low ? dot_product<2, 0>(b) : dot_product<2, 2>(b);
}

struct AddDifference {
  template <class T>
  T operator()(T a, T b, T c) const {
    using Bits = std::make_unsigned_t<T>;
    const Bits x = static_cast<Bits>(a), y = static_cast<Bits>(b);
    return static_cast<T>(static_cast<Bits>(c) + static_cast<Bits>(a < b ? y - x : x - y));
  }
};
void add_difference(Builder& b) {
  const Type type = b.type();
  const unsigned width = bytes_of(type);
  const unsigned sources[] = {width, width, width};
  with_integer(type, [&]<class T>(T) {
    if constexpr (sizeof(T) > 1) {
      b.add_simple(Ternary<AddDifference, T, T>::handler(), width, sources);
    }
  });
}

constexpr Opcode opcodes[] = {
    {"prmt", &permute_bytes},     {"bfe", &extract_field},          {"bfi", &insert_field},
    {"bfind", &find_bit},         {"shf", &funnel_shift},           {"lop3", &combine_bits},
    {"dp4a", &dot_product<1, 0>}, {"dp2a", &dot_product_of_halves}, {"sad", &add_difference},
};

}  // namespace

std::span<const Opcode> bit_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
