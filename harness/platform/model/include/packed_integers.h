// CUDA's functions of two integers of 16 bits or four of 8 in one word. Not counted.
#pragma once

#include <limits>
#include <type_traits>

namespace gpubench::model {

// `use(at, a, b)` for each pair of parts, which begin at bit `at`.
template <class Part, class Use>
constexpr void each_part(unsigned int x, unsigned int y, Use use) {
  for (unsigned int at = 0; at < 32; at += 8 * sizeof(Part)) {
    use(at, static_cast<Part>(x >> at), static_cast<Part>(y >> at));
  }
}
// `of(Part{}, a, b)` for each pair of parts, put together again.
template <class Part, class Of>
constexpr unsigned int by_part(unsigned int x, unsigned int y, Of of) {
  unsigned int all = 0;
  each_part<Part>(x, y, [&](unsigned int at, int a, int b) {
    const auto part = static_cast<std::make_unsigned_t<Part>>(of(Part{}, a, b));
    all |= static_cast<unsigned int>(part) << at;
  });
  return all;
}
template <class Part>
constexpr unsigned int sum_of_differences(unsigned int x, unsigned int y) {
  unsigned int sum = 0;
  each_part<Part>(x, y, [&](unsigned int, int a, int b) {
    sum += static_cast<unsigned int>(a < b ? b - a : a - b);
  });
  return sum;
}
template <class Part>
constexpr int saturated(int x) {
  using Limits = std::numeric_limits<Part>;
  return x < Limits::min() ? Limits::min() : x > Limits::max() ? Limits::max() : x;
}

}  // namespace gpubench::model

// `result` of a and b: two parts, widened to int.
#define GPUBENCH_PACKED_OF(name, type, result)                                \
  constexpr unsigned int name(unsigned int x, unsigned int y) {               \
    return gpubench::model::by_part<type>(x, y, [](auto part, int a, int b) { \
      using Part [[maybe_unused]] = decltype(part);                           \
      return result;                                                          \
    });                                                                       \
  }
#define GPUBENCH_PACKED_SIGNED(name, result) \
  GPUBENCH_PACKED_OF(name##2, short, result) \
  GPUBENCH_PACKED_OF(name##4, signed char, result)
#define GPUBENCH_PACKED_UNSIGNED(name, result)        \
  GPUBENCH_PACKED_OF(name##2, unsigned short, result) \
  GPUBENCH_PACKED_OF(name##4, unsigned char, result)
GPUBENCH_PACKED_UNSIGNED(__vadd, a + b)
GPUBENCH_PACKED_SIGNED(__vaddss, gpubench::model::saturated<Part>(a + b))
GPUBENCH_PACKED_UNSIGNED(__vaddus, gpubench::model::saturated<Part>(a + b))
GPUBENCH_PACKED_UNSIGNED(__vsub, a - b)
GPUBENCH_PACKED_SIGNED(__vsubss, gpubench::model::saturated<Part>(a - b))
GPUBENCH_PACKED_UNSIGNED(__vsubus, gpubench::model::saturated<Part>(a - b))
GPUBENCH_PACKED_SIGNED(__vabsdiffs, a < b ? b - a : a - b)
GPUBENCH_PACKED_UNSIGNED(__vabsdiffu, a < b ? b - a : a - b)
GPUBENCH_PACKED_SIGNED(__vmaxs, a < b ? b : a)
GPUBENCH_PACKED_UNSIGNED(__vmaxu, a < b ? b : a)
GPUBENCH_PACKED_SIGNED(__vmins, a < b ? a : b)
GPUBENCH_PACKED_UNSIGNED(__vminu, a < b ? a : b)
GPUBENCH_PACKED_UNSIGNED(__vhaddu, (a + b) >> 1)
// Halves are rounded away from zero.
GPUBENCH_PACKED_SIGNED(__vavgs, (a + b + (a + b >= 0)) >> 1)
GPUBENCH_PACKED_UNSIGNED(__vavgu, (a + b + 1) >> 1)
// All bits of a part, or its lowest one, where it compares so.
#define GPUBENCH_PACKED_COMPARED(kind, name, comparison)        \
  GPUBENCH_PACKED_##kind(__vcmp##name, a comparison b ? -1 : 0) \
      GPUBENCH_PACKED_##kind(__vset##name, a comparison b ? 1 : 0)
GPUBENCH_PACKED_COMPARED(UNSIGNED, eq, ==)
GPUBENCH_PACKED_COMPARED(UNSIGNED, ne, !=)
GPUBENCH_PACKED_COMPARED(SIGNED, ges, >=)
GPUBENCH_PACKED_COMPARED(SIGNED, gts, >)
GPUBENCH_PACKED_COMPARED(SIGNED, les, <=)
GPUBENCH_PACKED_COMPARED(SIGNED, lts, <)
GPUBENCH_PACKED_COMPARED(UNSIGNED, geu, >=)
GPUBENCH_PACKED_COMPARED(UNSIGNED, gtu, >)
GPUBENCH_PACKED_COMPARED(UNSIGNED, leu, <=)
GPUBENCH_PACKED_COMPARED(UNSIGNED, ltu, <)
#undef GPUBENCH_PACKED_COMPARED
#undef GPUBENCH_PACKED_UNSIGNED
#undef GPUBENCH_PACKED_SIGNED
#undef GPUBENCH_PACKED_OF

constexpr unsigned int __vneg2(unsigned int x) { return __vsub2(0, x); }
constexpr unsigned int __vneg4(unsigned int x) { return __vsub4(0, x); }
constexpr unsigned int __vnegss2(unsigned int x) { return __vsubss2(0, x); }
constexpr unsigned int __vnegss4(unsigned int x) { return __vsubss4(0, x); }
constexpr unsigned int __vabs2(unsigned int x) { return __vabsdiffs2(x, 0); }
constexpr unsigned int __vabs4(unsigned int x) { return __vabsdiffs4(x, 0); }
constexpr unsigned int __vabsss2(unsigned int x) { return __vmaxs2(x, __vnegss2(x)); }
constexpr unsigned int __vabsss4(unsigned int x) { return __vmaxs4(x, __vnegss4(x)); }
constexpr unsigned int __vsads2(unsigned int x, unsigned int y) {
  return gpubench::model::sum_of_differences<short>(x, y);
}
constexpr unsigned int __vsads4(unsigned int x, unsigned int y) {
  return gpubench::model::sum_of_differences<signed char>(x, y);
}
constexpr unsigned int __vsadu2(unsigned int x, unsigned int y) {
  return gpubench::model::sum_of_differences<unsigned short>(x, y);
}
constexpr unsigned int __vsadu4(unsigned int x, unsigned int y) {
  return gpubench::model::sum_of_differences<unsigned char>(x, y);
}
