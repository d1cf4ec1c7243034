// 2 to the power of x as the special-function unit has it: one operation, to 2 units in the last
// place; a result below 2^-126 is 0. exp2f spends three more instructions on those. (PTX ISA,
// "ex2.approx.ftz.f32". The model's answer to the same name:
// harness/platform/model/include/fast_exp2.hpp.)
#pragma once

#include <cuda_runtime.h>

__device__ inline float fast_exp2(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
