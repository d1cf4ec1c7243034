// mma.sync with block scales, of Blackwell's GeForce and workstation parts: a warp multiplies
// matrices of 8 or 4 bits, of whose blocks along k each has a scale, d += (a * scales) * (b *
// scales). sm_120a and sm_121a; a trap elsewhere. (The model's answer to the same names:
// harness/platform/model/include/block_scaled_mma.hpp.)
//
//   mxfp8   elements are E4M3, scales powers of two (UE8M0: 127 is 1), one for each row of a and
//           column of b. k = 32; registers as of mma.sync's other products of 8 bits (warp_mma.hpp)
//   nvfp4   elements are E2M1, scales E4M3 without a sign, four for each row and column, of 16
//           elements each. k = 64. With g = lane / 4, t = lane % 4:
//           a[0..3]: eight neighbours of a row each, at rows g, g + 8, g, g + 8 and columns 8 t,
//                    8 t, 8 t + 32, 8 t + 32, the lowest column in the lowest bits
//           b[0..1]: eight neighbours of column g each, at rows 8 t and 8 t + 32
//
// Every lane holds four bytes of scales for each of a and b. A product takes a's from two lanes of
// each four that share g: t = 2 * thread_a has row g's and the next lane has row g + 8's; and b's
// column g from lane t = thread_b. For mxfp8 the scale is their byte `byte_a` or `byte_b`; for
// nvfp4 the four scales of a row are the four bytes. (PTX ISA, "Block Scaling for mma.sync",
// "Matrix Fragments for mma.m16n8k64".)
#pragma once

#include <cuda_runtime.h>

#if defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL)
#define GPUBENCH_BLOCK_SCALES
#endif

// Whether this code has it, or traps. (Compiled for sm_120 and for sm_120a, a kernel has the same
// attributes: only the code itself knows.)
__device__ constexpr bool has_block_scaled_mma() {
#ifdef GPUBENCH_BLOCK_SCALES
  return true;
#else
  return false;
#endif
}

#ifdef GPUBENCH_BLOCK_SCALES
#define GPUBENCH_MMA(instruction)                                                             \
  asm volatile("mma.sync.aligned." instruction                                                \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, "            \
               "%10, {%12, %13}, %11, {%14, %15};"                                            \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(of_a), \
                 "r"(of_b), "n"(byte_a), "n"(thread_a), "n"(byte_b), "n"(thread_b))
#else
#define GPUBENCH_MMA(instruction) __trap()
#endif
template <unsigned byte_a, unsigned thread_a, unsigned byte_b, unsigned thread_b>
__device__ inline void mma_m16n8k32_mxfp8([[maybe_unused]] float (&d)[4],
                                          [[maybe_unused]] const unsigned (&a)[4],
                                          [[maybe_unused]] const unsigned (&b)[2],
                                          [[maybe_unused]] unsigned of_a,
                                          [[maybe_unused]] unsigned of_b) {
  GPUBENCH_MMA("m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0");
}
template <unsigned byte_a, unsigned thread_a, unsigned byte_b, unsigned thread_b>
__device__ inline void mma_m16n8k64_nvfp4([[maybe_unused]] float (&d)[4],
                                          [[maybe_unused]] const unsigned (&a)[4],
                                          [[maybe_unused]] const unsigned (&b)[2],
                                          [[maybe_unused]] unsigned of_a,
                                          [[maybe_unused]] unsigned of_b) {
  static_assert(byte_a == 0 && byte_b == 0, "a row's scales are all four bytes");
  GPUBENCH_MMA("m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3");
}
#undef GPUBENCH_MMA
