// a * b + c of 32-bit integers, wrapping around, as the one instruction that it is. (The model's
// answer to the same name, which counts it: harness/platform/model/include/integer_mad.hpp.)
#pragma once

#include <cuda_runtime.h>

__device__ inline int mad_lo(int a, int b, int c) {
  int d;
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
