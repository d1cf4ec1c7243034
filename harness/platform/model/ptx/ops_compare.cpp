// Comparisons and choices: PTX ISA, "Comparison and Selection Instructions".
#include <cmath>

#include "harness/platform/model/ptx/handlers.hpp"
#include "harness/platform/model/ptx/numbers.hpp"

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

struct Halves {
  static float widen(std::uint16_t x) { return half_to_float(x); }
};
struct Bfloats {
  static float widen(std::uint16_t x) { return bfloat16_to_float(x); }
};
template <class F, class As>
struct Widened {
  bool operator()(std::uint16_t a, std::uint16_t b) const {
    return F()(As::widen(a), As::widen(b));
  }
};

template <class F>
Handler compare(Type type) {
  switch (type) {
    case Type::f32:
      return Comparison<F, float>::handler();
    case Type::f64:
      return Comparison<F, double>::handler();
    case Type::f16:
      return Comparison<Widened<F, Halves>, std::uint16_t>::handler();
    case Type::bf16:
      return Comparison<Widened<F, Bfloats>, std::uint16_t>::handler();
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
  Handler (*of)(Type type);
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

// "setp.lt.f32 p, a, b": of the forms with a second predicate or one to combine with, none is
// known.
void set_predicate(Builder& b) {
  if (b.instruction().parts.size() != 3) b.unknown();
  const Type type = b.type();
  Handler run = nullptr;
  for (const Relation& relation : relations) {
    if (relation.name == b.instruction().parts[1]) run = relation.of(type);
  }
  if (run == nullptr) b.unknown();
  const unsigned width = bytes_of(type);
  const unsigned sources[] = {width, width};
  b.add_simple(run, 4, sources);
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
  const unsigned sources[] = {width, width, 4};
  Handler run = width == 2   ? &select<std::uint16_t>
                : width == 4 ? &select<std::uint32_t>
                             : &select<std::uint64_t>;
  b.add_simple(run, width, sources).defines_itself = true;
}

constexpr Opcode opcodes[] = {{"setp", &set_predicate}, {"selp", &select_by_predicate}};

}  // namespace

std::span<const Opcode> compare_opcodes() { return opcodes; }

}  // namespace gpubench::model::ptx
