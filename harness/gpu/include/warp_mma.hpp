// mma.sync: a whole warp multiplies matrices, d = a * b + c, with float sums. sm_80 and later; a
// trap before. (The model's answer to the same names: harness/model/include/warp_mma.hpp.)
//
// A lane brings its own elements, in registers of 32 bits (PTX ISA, "Matrix Fragments for
// mma.m16n8k16 with floating point type" and "... mma.m16n8k8"). With g = lane / 4, t = lane % 4:
//
//   16 bits  a[0..3]: two neighbours of a row each, at rows g, g + 8, g, g + 8 and columns 2 t,
//                     2 t, 2 t + 8, 2 t + 8, the lower column in the lower half
//            b[0..1]: two neighbours of column g each, at rows 2 t and 2 t + 8
//   tf32     a[0..3]: at rows g, g + 8, g, g + 8 and columns t, t, t + 4, t + 4
//            b[0..1]: of column g, at rows t and t + 4; bits as of float, the lowest 13 ignored
//   both     c, d [0..3]: at rows g, g, g + 8, g + 8 and columns 2 t, 2 t + 1, 2 t, 2 t + 1
#pragma once

#include <cuda_runtime.h>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define GPUBENCH_MMA(name, instruction)                                                         \
  __device__ inline void name(float(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2],       \
                              const float(&c)[4]) {                                             \
    asm volatile("mma.sync.aligned." instruction                                                \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"         \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), \
                   "f"(c[1]), "f"(c[2]), "f"(c[3]));                                            \
  }
#else
#define GPUBENCH_MMA(name, instruction)                                                \
  __device__ inline void name(float(&)[4], const unsigned(&)[4], const unsigned(&)[2], \
                              const float(&)[4]) {                                     \
    __trap();                                                                          \
  }
#endif
GPUBENCH_MMA(mma_m16n8k16_fp16, "m16n8k16.row.col.f32.f16.f16.f32")
GPUBENCH_MMA(mma_m16n8k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
GPUBENCH_MMA(mma_m16n8k8_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef GPUBENCH_MMA
