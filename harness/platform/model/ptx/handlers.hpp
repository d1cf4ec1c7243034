// Handlers of operations that do the same in every lane, from functions of one lane's values.
#pragma once

#include <cstdint>
#include <type_traits>

#include "harness/platform/model/ptx/builder.hpp"
#include "harness/platform/model/ptx/warp.hpp"

namespace gpubench::model::ptx {

// Each handler exists twice, for processors with AVX2 and FMA and for those without.
inline bool has_wide_vectors() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#define GPUBENCH_PTX_TWICE(arguments, call)                        \
  static void plain arguments { call; }                            \
  [[gnu::target("avx2,fma")]] static void wide arguments { call; } \
  static Handler handler() { return has_wide_vectors() ? &wide : &plain; }

template <class Each>
[[gnu::always_inline]] inline void each_lane(Mask mask, Each&& each) {
  if (mask == ~Mask{0}) {
#pragma GCC ivdep
    for (unsigned lane = 0; lane < lanes; ++lane) each(lane);
  } else {
    for (Mask rest = mask; rest != 0; rest &= rest - 1) {
      each(static_cast<unsigned>(std::countr_zero(rest)));
    }
  }
}

template <class F, class D, class A>
struct Unary {
  [[gnu::always_inline]] static void run(Warp& w, const Op& op, Mask mask) {
    D* const d = w.row<D>(op.d);
    const A* const a = w.row<A>(op.a);
    each_lane(mask, [=](unsigned i) { d[i] = F()(a[i]); });
  }
  GPUBENCH_PTX_TWICE((Warp & w, const Op& op, Mask mask), run(w, op, mask))
};
template <class F, class D, class A, class B = A>
struct Binary {
  [[gnu::always_inline]] static void run(Warp& w, const Op& op, Mask mask) {
    D* const d = w.row<D>(op.d);
    const A* const a = w.row<A>(op.a);
    const B* const b = w.row<B>(op.b);
    each_lane(mask, [=](unsigned i) { d[i] = F()(a[i], b[i]); });
  }
  GPUBENCH_PTX_TWICE((Warp & w, const Op& op, Mask mask), run(w, op, mask))
};
template <class F, class D, class A, class B = A, class C = D>
struct Ternary {
  [[gnu::always_inline]] static void run(Warp& w, const Op& op, Mask mask) {
    D* const d = w.row<D>(op.d);
    const A* const a = w.row<A>(op.a);
    const B* const b = w.row<B>(op.b);
    const C* const c = w.row<C>(op.c);
    each_lane(mask, [=](unsigned i) { d[i] = F()(a[i], b[i], c[i]); });
  }
  GPUBENCH_PTX_TWICE((Warp & w, const Op& op, Mask mask), run(w, op, mask))
};
// A mask from a comparison.
template <class F, class A>
struct Comparison {
  [[gnu::always_inline]] static void run(Warp& w, const Op& op, Mask mask) {
    const A* const a = w.row<A>(op.a);
    const A* const b = w.row<A>(op.b);
    Mask found = 0;
    if (mask == ~Mask{0}) {
      for (unsigned i = 0; i < lanes; ++i) found |= Mask{F()(a[i], b[i])} << i;
    } else {
      for_lanes(mask, [&](unsigned i) { found |= Mask{F()(a[i], b[i])} << i; });
    }
    Mask& d = w.predicate(op.d);
    d = (d & ~mask) | (found & mask);
  }
  GPUBENCH_PTX_TWICE((Warp & w, const Op& op, Mask mask), run(w, op, mask))
};

// Calls `visit` with a value of the type that lanes of `type` have.
template <class Visit>
bool with_integer(Type type, Visit&& visit) {
  switch (type) {
    case Type::b8:
    case Type::u8:
      visit(std::uint8_t{});
      return true;
    case Type::s8:
      visit(std::int8_t{});
      return true;
    case Type::b16:
    case Type::u16:
      visit(std::uint16_t{});
      return true;
    case Type::s16:
      visit(std::int16_t{});
      return true;
    case Type::b32:
    case Type::u32:
      visit(std::uint32_t{});
      return true;
    case Type::s32:
      visit(std::int32_t{});
      return true;
    case Type::b64:
    case Type::u64:
      visit(std::uint64_t{});
      return true;
    case Type::s64:
      visit(std::int64_t{});
      return true;
    default:
      return false;
  }
}

}  // namespace gpubench::model::ptx
