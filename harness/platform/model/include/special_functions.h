// Single-precision functions that a GPU's special-function unit (MUFU) has a part in.
//
// X(name, operations): what CUDA 13 executes on the unit for one call, outside the slow paths for
// denormals, infinities and the like; the same from sm_75 to sm_120 (a test disassembles and
// recounts). Sines, cosines and logarithms are polynomials unless their fast forms are called, and
// erff asks the unit for arguments from `least_of_erff` only. Not counted: a division by `/`, which
// is no call, and double precision.
#pragma once

// The C library's, counted on their way to it.
#define GPUBENCH_SPECIAL_OF_LIBM(X) \
  X(atanf, 1)                       \
  X(cbrtf, 2)                       \
  X(coshf, 2)                       \
  X(erfcf, 3) X(exp10f, 1) X(exp2f, 1) X(expf, 1) X(expm1f, 1) X(sinhf, 2) X(sqrtf, 1) X(tanhf, 2)
#define GPUBENCH_SPECIAL_OF_LIBM_OF_TWO(X) X(atan2f, 1) X(hypotf, 1) X(powf, 1)

// CUDA's own. Here they are as exact as the C library: the fast ones of a GPU are not.
#define GPUBENCH_SPECIAL_OF_CUDA(X) \
  X(__cosf, 1)                      \
  X(__exp10f, 1)                    \
  X(__expf, 1)                      \
  X(__frcp_rn, 1)                   \
  X(__fsqrt_rn, 1)                  \
  X(__log10f, 1) X(__log2f, 1) X(__logf, 1) X(__sinf, 1) X(__tanf, 3) X(rcbrtf, 2) X(rsqrtf, 1)
#define GPUBENCH_SPECIAL_OF_CUDA_OF_TWO(X) X(__fdiv_rn, 1) X(__fdividef, 1) X(__powf, 2)

namespace gpubench::model {
inline constexpr float least_of_erff = 1.00296f;  // in absolute value
}

extern "C" {  // the C library declares some of them too, and defines none
// Sines and cosines of x times pi: no operation of the unit. And a root by one, but for denormals.
float sinpif(float x) noexcept;
float cospif(float x) noexcept;
double sinpi(double x) noexcept;
double cospi(double x) noexcept;
float __frsqrt_rn(float x) noexcept;
#define GPUBENCH_DECLARE(name, operations) float name(float x) noexcept;
#define GPUBENCH_DECLARE_OF_TWO(name, operations) float name(float x, float y) noexcept;
GPUBENCH_SPECIAL_OF_CUDA(GPUBENCH_DECLARE)
GPUBENCH_SPECIAL_OF_CUDA_OF_TWO(GPUBENCH_DECLARE_OF_TWO)
#undef GPUBENCH_DECLARE
#undef GPUBENCH_DECLARE_OF_TWO
}
