// Comparisons and choices: PTX ISA, "Comparison and Selection Instructions".
#include <cmath>

#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/numbers.hpp"
#include "harness/platform/model/ptx/small_floats.hpp"

namespace gpubench::model::ptx {
namespace {

template <class T>
bool is_nan(T a) {
  if constexpr (std::is_floating_point_v<T>) {
    return a != a;
  } else {
    return false;
  }
}
struct Eq {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Ne {  // false of what is no number
  template <class T>
  bool operator()(T a, T b) const {
    return a < b || a > b;
  }
};
struct Lt {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Le {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Ge {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
// The unordered ones: true of what is no number.
template <class F>
struct Or {
  template <class T>
  bool operator()(T a, T b) const {
    return is_nan(a) || is_nan(b) || F()(a, b);
  }
};
struct Num {
  template <class T>
  bool operator()(T a, T b) const {
    return !is_nan(a) && !is_nan(b);
  }
};
struct Nan {
  template <class T>
  bool operator()(T a, T b) const {
    return is_nan(a) || is_nan(b);
  }
};

template <class F, class As>
struct Widened {
  bool operator()(std::uint16_t a, std::uint16_t b) const {
    return F()(As::widen(a), As::widen(b));
  }
};

template <class F>
struct Flushed {
  bool operator()(float a, float b) const { return F()(flushed(a), flushed(b)); }
};

template <class F>
Handler compare(Type type, bool flushes) {
  switch (type) {
    case Type::f32:
      return flushes ? Comparison<Flushed<F>, float>::handler() : Comparison<F, float>::handler();
    case Type::f64:
      return Comparison<F, double>::handler();
    case Type::f16:
      return Comparison<Widened<F, AsHalf>, std::uint16_t>::handler();
    case Type::bf16:
      return Comparison<Widened<F, AsBfloat>, std::uint16_t>::handler();
    default:
      break;
  }
  Handler found = nullptr;
  with_integer(type, [&]<class T>(T) {
    if constexpr (sizeof(T) > 1) found = Comparison<F, T>::handler();
  });
  return found;
}

struct Relation {
  std::string_view name;
  Handler (*of)(Type type, bool flushes);
};
// lo, ls, hi and hs are lt, le, gt and ge of types without a sign.
constexpr Relation relations[] = {
    {"eq", &compare<Eq>},      {"ne", &compare<Ne>},      {"lt", &compare<Lt>},
    {"le", &compare<Le>},      {"gt", &compare<Gt>},      {"ge", &compare<Ge>},
    {"lo", &compare<Lt>},      {"ls", &compare<Le>},      {"hi", &compare<Gt>},
    {"hs", &compare<Ge>},      {"equ", &compare<Or<Eq>>}, {"neu", &compare<Or<Ne>>},
    {"ltu", &compare<Or<Lt>>}, {"leu", &compare<Or<Le>>}, {"gtu", &compare<Or<Gt>>},
    {"geu", &compare<Or<Ge>>}, {"num", &compare<Num>},    {"nan", &compare<Nan>},
};
Handler relation(Builder& b, Type type) {
  const bool flushes = type == Type::f32 && b.has("ftz");
  for (const Relation& r : relations) {
    if (!b.has(r.name)) continue;
    if (const Handler run = r.of(type, flushes)) return run;
  }
  b.unknown();
  return nullptr;
}

// Compares registers of that type into d.
void compare_registers(Builder& b, Type type, const Register& d, const Register& first,
                       const Register& second) {
  Op& op = b.add(relation(b, type));
  Builder::set_destination(op, d);
  Builder::set_a(op, first);
  Builder::set_b(op, second);
}
Register compared_operand(Builder& b, std::size_t i, Type type) {
  const Register r = b.source(b.operand(i), bytes_of(type));
  if (r.bytes != bytes_of(type)) b.refuse("reads a register of another width");
  return r;
}
// Compares operands 1 and 2 into d.
void add_comparison(Builder& b, Type type, const Register& d) {
  const Register first = compared_operand(b, 1, type), second = compared_operand(b, 2, type);
  compare_registers(b, type, d, first, second);
}

enum class Join : std::int64_t { nothing, both, either, one };
Mask joined(Join how, Mask a, Mask b) {
  switch (how) {
    case Join::nothing:
      return a;
    case Join::both:
      return a & b;
    case Join::either:
      return a | b;
    case Join::one:
      return a ^ b;
  }
  return a;
}
// What was compared, and its opposite, each joined with another predicate.
void join(Warp& w, const Op& op, Mask mask) {
  const Extra& e = *op.extra;
  const Mask compared = w.predicate(op.a);
  Mask other = w.predicate(op.b);
  if (e.first_sign < 0) other = ~other;
  const Mask known = w.defined(op.an) & w.defined(op.bn) & mask;
  Mask value = compared;
  for (const Register& to : e.destinations) {
    const Mask result = joined(static_cast<Join>(op.offset), value, other);
    value = ~compared;
    if (to.number == nowhere) continue;
    Mask& d = w.predicate(to.offset);
    d = (d & ~mask) | (result & mask);
    Mask& defined = w.defined(to.number);
    defined = (defined & ~mask) | known;
  }
}

// "setp.lt.f32 p, a, b", and "setp.lt.and.f32 p|q, a, b, !c".
void set_predicate(Builder& b) {
  const Type type = b.type();
  const unsigned width = bytes_of(Type::pred);
  const Operand& to = b.operand(0);
  const bool is_pair = to.kind == Operand::Kind::pair;
  const Join how = b.has("and")   ? Join::both
                   : b.has("or")  ? Join::either
                   : b.has("xor") ? Join::one
                                  : Join::nothing;
  if (!is_pair && how == Join::nothing) return add_comparison(b, type, b.destination(to, width));
  Extra& extra = b.extra();
  for (const Operand& each : is_pair ? to.elements : std::vector{to}) {
    extra.destinations.push_back(b.destination(each, width));
  }
  const Register compared = b.scratch(width);
  add_comparison(b, type, compared);
  bool is_negated = false;
  const Register other = how == Join::nothing ? compared : b.negatable(b.operand(3), is_negated);
  extra.first_sign = is_negated ? -1 : 1;
  Op& op = b.add(&join);
  op.defines_itself = true;
  op.offset = static_cast<std::int64_t>(how);
  op.extra = &extra;
  Builder::set_a(op, compared);
  Builder::set_b(op, other);
}

// "set.lt.u32.f32 d, a, b": all ones, or 1.0, where it holds.
template <class T>
void spread(Warp& w, const Op& op, Mask mask) {
  const Mask holds = w.predicate(op.a);
  auto* const d = w.row<T>(op.d);
  for_lanes(mask, [&](unsigned i) { d[i] = holds >> i & 1 ? static_cast<T>(op.offset) : T{0}; });
}
std::int64_t truth_of(Type type) {
  switch (type) {
    case Type::f32:
      return 0x3f800000;
    case Type::f16:
    case Type::f16x2:
      return 0x3c00;
    case Type::bf16:
    case Type::bf16x2:
      return 0x3f80;
    default:
      return 0xffffffff;
  }
}

// The lower and the upper number of a word.
void part(Warp& w, const Op& op, Mask mask) {
  const auto* const a = w.row<std::uint32_t>(op.a);
  auto* const d = w.row<std::uint16_t>(op.d);
  for_lanes(mask, [&](unsigned i) { d[i] = static_cast<std::uint16_t>(a[i] >> op.offset); });
}
void spread_pair(Warp& w, const Op& op, Mask mask) {
  const Mask low = w.predicate(op.a), high = w.predicate(op.b);
  auto* const d = w.row<std::uint32_t>(op.d);
  const auto truth = static_cast<std::uint32_t>(op.offset);
  for_lanes(mask, [&](unsigned i) {
    d[i] = (low >> i & 1 ? truth : 0) | (high >> i & 1 ? truth << 16 : 0);
  });
}
// "set.eq.f16x2.f16x2 d, a, b"
void set_pair(Builder& b, Type pair) {
  const Type type = pair == Type::f16x2 ? Type::f16 : Type::bf16;
  const Register words[] = {compared_operand(b, 1, pair), compared_operand(b, 2, pair)};
  Register compared[2];
  for (unsigned half = 0; half < 2; ++half) {
    Register numbers[2];
    for (unsigned i = 0; i < 2; ++i) {
      numbers[i] = b.scratch(bytes_of(type));
      Op& op = b.add(&part);
      op.offset = 16 * half;
      Builder::set_destination(op, numbers[i]);
      Builder::set_a(op, words[i]);
    }
    compared[half] = b.scratch(bytes_of(Type::pred));
    compare_registers(b, type, compared[half], numbers[0], numbers[1]);
  }
  Op& op = b.add(&spread_pair);
  op.offset = truth_of(pair);
  Builder::set_destination(op, b.destination(b.operand(0), 4));
  Builder::set_a(op, compared[0]);
  Builder::set_b(op, compared[1]);
}
void set_number(Builder& b) {
  const auto& parts = b.instruction().parts;
  if (parts.size() < 4) b.unknown();
  const Type to = b.type_at(parts.size() - 2), from = b.type_at(parts.size() - 1);
  if (to == from && (to == Type::f16x2 || to == Type::bf16x2)) return set_pair(b, to);
  const bool is_short = to == Type::f16 || to == Type::bf16;
  if (!is_short && to != Type::u32 && to != Type::s32 && to != Type::f32) b.unknown();
  const Register compared = b.scratch(bytes_of(Type::pred));
  add_comparison(b, from, compared);
  Op& op = b.add(is_short ? &spread<std::uint16_t> : &spread<std::uint32_t>);
  op.offset = truth_of(to);
  const Register d = b.destination(b.operand(0), bytes_of(to));
  if (d.bytes != bytes_of(to)) b.refuse("writes to a register of another width");
  Builder::set_destination(op, d);
  Builder::set_a(op, compared);
}

// "slct.f32.s32 d, a, b, c": a where c >= 0.
template <class T, class C>
struct ByItsSign {
  T operator()(T a, T b, C c) const { return c >= 0 ? a : b; }
};
template <class C>
void add_choice(Builder& b, unsigned width) {
  const unsigned sources[] = {width, width, 4};
  with_integer(width == 2   ? Type::u16
               : width == 4 ? Type::u32
                            : Type::u64,
               [&]<class T>(T) {
                 b.add_simple(Ternary<ByItsSign<T, C>, T, T, T, C>::handler(), width, sources);
               });
}
void select_by_sign(Builder& b) {
  const auto& parts = b.instruction().parts;
  const Type by = b.type_at(parts.size() - 1);
  if (by != Type::s32 && by != Type::f32) b.unknown();
  const unsigned width = bytes_of(b.type_at(parts.size() - 2));
  by == Type::s32 ? add_choice<std::int32_t>(b, width) : add_choice<float>(b, width);
}

template <class T>
void select(Warp& w, const Op& op, Mask mask) {
  T* const d = w.row<T>(op.d);
  const T* const a = w.row<T>(op.a);
  const T* const b = w.row<T>(op.b);
  const Mask first = w.predicate(op.c);
  each_lane(mask, [=](unsigned i) { d[i] = first >> i & 1 ? a[i] : b[i]; });
  // What is not chosen may hold nothing.
  const Mask chosen = (first & w.defined(op.an)) | (~first & w.defined(op.bn));
  Mask& defined = w.defined(op.dn);
  defined = (defined & ~mask) | (chosen & w.defined(op.cn) & mask);
}
void select_by_predicate(Builder& b) {
  const unsigned width = bytes_of(b.type());
  const unsigned sources[] = {width, width, bytes_of(Type::pred)};
  Handler run = width == 2   ? &select<std::uint16_t>
                : width == 4 ? &select<std::uint32_t>
                             : &select<std::uint64_t>;
  b.add_simple(run, width, sources).defines_itself = true;
}

constexpr Opcode opcodes[] = {{"setp", &set_predicate},
                              {"selp", &select_by_predicate},
                              {"set", &set_number},
                              {"slct", &select_by_sign}};

}  // namespace

std::span<const Opcode> compare_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
