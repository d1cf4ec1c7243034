// What kernels call of include/directed_rounding.h: counted, then computed by the processor, which
// rounds so if it is told to.
#include "harness/platform/model/include/directed_rounding.h"

#include <cfenv>

#include "harness/platform/model/emulator/block_runner.hpp"

using gpubench::model::Arithmetic;
using gpubench::model::count_arithmetic;

extern "C" {  // not counted again
float __real_fmaf(float a, float b, float c);
double __real_fma(double a, double b, double c);
}

namespace {

float multiply_add(float a, float b, float c) { return __real_fmaf(a, b, c); }
double multiply_add(double a, double b, double c) { return __real_fma(a, b, c); }

// By way of memory: the compiler takes it that every rounding is to nearest, and would compute
// before the processor has been told.
template <class T, class Operation>
T rounded(int way, Operation&& operation) {
  const int before = std::fegetround();
  std::fesetround(way);
  volatile T result = operation();
  std::fesetround(before);
  return result;
}

template <class T>
T added(int way, T a, T b) {
  volatile T x = a, y = b;
  return rounded<T>(way, [&] { return x + y; });
}
template <class T>
T multiplied(int way, T a, T b) {
  volatile T x = a, y = b;
  return rounded<T>(way, [&] { return x * y; });
}
template <class T>
T fused(int way, T a, T b, T c) {
  volatile T x = a, y = b, z = c;
  return rounded<T>(way, [&] { return multiply_add(x, y, z); });
}

}  // namespace

#define GPUBENCH_COUNT(unit) count_arithmetic(Arithmetic::unit, __builtin_return_address(0))
#define GPUBENCH_DIRECTED(suffix, way)                                                 \
  float __fadd##suffix(float a, float b) noexcept {                                    \
    GPUBENCH_COUNT(add_fp32);                                                          \
    return added(way, a, b);                                                           \
  }                                                                                    \
  float __fsub##suffix(float a, float b) noexcept {                                    \
    GPUBENCH_COUNT(add_fp32);                                                          \
    return added(way, a, -b);                                                          \
  }                                                                                    \
  float __fmul##suffix(float a, float b) noexcept {                                    \
    GPUBENCH_COUNT(add_fp32);                                                          \
    return multiplied(way, a, b);                                                      \
  }                                                                                    \
  float __fmaf##suffix(float a, float b, float c) noexcept {                           \
    const float result = fused(way, a, b, c);                                          \
    if (auto* block = gpubench::model::running_block) {                                \
      block->on_fma(a, b, c, result, __builtin_return_address(0));                     \
    }                                                                                  \
    return result;                                                                     \
  }                                                                                    \
  double __dadd##suffix(double a, double b) noexcept { return added(way, a, b); }      \
  double __dsub##suffix(double a, double b) noexcept { return added(way, a, -b); }     \
  double __dmul##suffix(double a, double b) noexcept { return multiplied(way, a, b); } \
  double __fma##suffix(double a, double b, double c) noexcept {                        \
    GPUBENCH_COUNT(fma_fp64);                                                          \
    return fused(way, a, b, c);                                                        \
  }
GPUBENCH_DIRECTED(_rz, FE_TOWARDZERO)
GPUBENCH_DIRECTED(_ru, FE_UPWARD)
GPUBENCH_DIRECTED(_rd, FE_DOWNWARD)
#undef GPUBENCH_DIRECTED
#undef GPUBENCH_COUNT
