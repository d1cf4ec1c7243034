// What the compiler may take for granted of functions that are calls only so that they are counted
// (special_functions.h): their results are made of their arguments alone. Else it would load again
// after each call what it has loaded before, where nvcc, to which these are instructions, keeps it.
//
// For code that nobody has compared with nvcc's, instruction by instruction: the labs' solutions.
#pragma once

#include "harness/platform/model/include/device_language.h"

extern "C" {
#define GPUBENCH_OF_ONE(name, operations) [[gnu::const]] float name(float x) noexcept;
#define GPUBENCH_OF_TWO(name, operations) [[gnu::const]] float name(float x, float y) noexcept;
GPUBENCH_SPECIAL_OF_LIBM(GPUBENCH_OF_ONE)
GPUBENCH_SPECIAL_OF_CUDA(GPUBENCH_OF_ONE)
GPUBENCH_SPECIAL_OF_LIBM_OF_TWO(GPUBENCH_OF_TWO)
GPUBENCH_SPECIAL_OF_CUDA_OF_TWO(GPUBENCH_OF_TWO)
GPUBENCH_OF_ONE(erff, )
GPUBENCH_OF_ONE(sinpif, )
GPUBENCH_OF_ONE(cospif, )
GPUBENCH_OF_ONE(__frsqrt_rn, )
GPUBENCH_OF_TWO(fmaxf, )
GPUBENCH_OF_TWO(fminf, )
#undef GPUBENCH_OF_ONE
#undef GPUBENCH_OF_TWO
[[gnu::const]] float fmaf(float a, float b, float c) noexcept;
[[gnu::const]] double fma(double a, double b, double c) noexcept;
}

[[gnu::const]] float __fadd_rn(float a, float b) noexcept;
[[gnu::const]] float __fmul_rn(float a, float b) noexcept;
