// What kernels call of include/special_functions.h: counted, then computed.
#include "harness/platform/model/include/special_functions.h"

#include <cmath>
#include <numbers>

#include "harness/platform/model/emulator/block_runner.hpp"

extern "C" {
#define GPUBENCH_REAL(name, operations) float __real_##name(float x);
#define GPUBENCH_REAL_OF_TWO(name, operations) float __real_##name(float x, float y);
GPUBENCH_SPECIAL_OF_LIBM(GPUBENCH_REAL)
GPUBENCH_SPECIAL_OF_LIBM_OF_TWO(GPUBENCH_REAL_OF_TWO)
float __real_erff(float x);
}

namespace {

[[gnu::always_inline]] inline void count(unsigned operations, const void* code) {
  if (auto* block = gpubench::model::running_block) block->on_special(operations, code);
}

// By the names of CUDA's functions; what they call is not counted again.
namespace plain {
float __cosf(float x) { return std::cos(x); }
float __exp10f(float x) { return __real_exp10f(x); }
float __expf(float x) { return __real_expf(x); }
float __frcp_rn(float x) { return 1 / x; }
float __fsqrt_rn(float x) { return __real_sqrtf(x); }
float __log10f(float x) { return std::log10(x); }
float __log2f(float x) { return std::log2(x); }
float __logf(float x) { return std::log(x); }
float __sinf(float x) { return std::sin(x); }
float __tanf(float x) { return std::tan(x); }
float rcbrtf(float x) { return 1 / __real_cbrtf(x); }
float rsqrtf(float x) { return 1 / __real_sqrtf(x); }
float __fdiv_rn(float x, float y) { return x / y; }
float __fdividef(float x, float y) { return x / y; }
float __powf(float x, float y) { return __real_powf(x, y); }
}  // namespace plain

// Exact where it is 0, 1 or -1: what is left of x after whole turns is, and so is 1 minus it.
double sine_of_pi_times(double x) {
  double rest = std::remainder(x, 2.0);
  if (std::abs(rest) > 0.5) rest = std::copysign(1.0, rest) - rest;
  if (rest == 0) return std::copysign(0.0, x);
  return std::sin(std::numbers::pi * rest);
}
double cosine_of_pi_times(double x) {
  return std::sin(std::numbers::pi * (0.5 - std::abs(std::remainder(x, 2.0))));
}

}  // namespace

extern "C" {

#define GPUBENCH_WRAP(name, operations)             \
  float __wrap_##name(float x) {                    \
    count(operations, __builtin_return_address(0)); \
    return __real_##name(x);                        \
  }
#define GPUBENCH_WRAP_OF_TWO(name, operations)      \
  float __wrap_##name(float x, float y) {           \
    count(operations, __builtin_return_address(0)); \
    return __real_##name(x, y);                     \
  }
GPUBENCH_SPECIAL_OF_LIBM(GPUBENCH_WRAP)
GPUBENCH_SPECIAL_OF_LIBM_OF_TWO(GPUBENCH_WRAP_OF_TWO)

float __wrap_erff(float x) {
  if (std::abs(x) >= gpubench::model::least_of_erff) count(1, __builtin_return_address(0));
  return __real_erff(x);
}

#define GPUBENCH_DEFINE(name, operations)           \
  float name(float x) noexcept {                    \
    count(operations, __builtin_return_address(0)); \
    return plain::name(x);                          \
  }
#define GPUBENCH_DEFINE_OF_TWO(name, operations)    \
  float name(float x, float y) noexcept {           \
    count(operations, __builtin_return_address(0)); \
    return plain::name(x, y);                       \
  }
float sinpif(float x) noexcept { return static_cast<float>(sine_of_pi_times(x)); }
float cospif(float x) noexcept { return static_cast<float>(cosine_of_pi_times(x)); }
double sinpi(double x) noexcept { return sine_of_pi_times(x); }
double cospi(double x) noexcept { return cosine_of_pi_times(x); }
float __frsqrt_rn(float x) noexcept {
  count(1, __builtin_return_address(0));
  return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}

GPUBENCH_SPECIAL_OF_CUDA(GPUBENCH_DEFINE)
GPUBENCH_SPECIAL_OF_CUDA_OF_TWO(GPUBENCH_DEFINE_OF_TWO)

}  // extern "C"
