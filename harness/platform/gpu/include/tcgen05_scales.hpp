// Products in tensor memory of factors with block scales. sm_100a and sm_103a; a trap elsewhere.
// (The model's answer to the same names: harness/platform/model/include/tcgen05_scales.hpp.)
//
// Scales lie in tensor memory too, four bytes to a column. Those of rows 32 j to 32 j + 31 of a are
// column j from where they begin, row 32 j + i in lane i; of b's columns likewise. For mxfp8 a
// product takes one byte per column, which its instruction descriptor names; for nvfp4 all four,
// each for 16 elements along k. Every quarter of the lanes holds the same. (PTX ISA, "Block
// Scaling" of tcgen05.mma, "tcgen05.cp".)
#pragma once

#include <tcgen05.hpp>

#ifdef GPUBENCH_TCGEN05
// One thread: 32 rows of 16 bytes, which a matrix descriptor names, become lanes 0 to 31 of four
// columns, and those of the other three quarters. Products that the same thread asks for later find
// them there; a commit waits for them as for products. For one block, and by
// tcgen05_pair_scales.hpp for two.
#define GPUBENCH_TCGEN05_SCALE_COPY(name, group)                                            \
  __device__ inline void name(unsigned address, std::uint64_t rows) {                       \
    asm volatile("tcgen05.cp.cta_group::" group ".32x128b.warpx4 [%0], %1;" ::"r"(address), \
                 "l"(rows)                                                                  \
                 : "memory");                                                               \
  }
// One thread: d = (a * scales) * (b * scales), or d += that, over 32 bytes of k.
#define GPUBENCH_TCGEN05_SCALED_KIND(group, kind)                                         \
  asm volatile(                                                                           \
      "{\n"                                                                               \
      ".reg .pred adds;\n"                                                                \
      "setp.ne.u32 adds, %6, 0;\n"                                                        \
      "tcgen05.mma.cta_group::" group ".kind::" kind                                      \
      " [%0], %1, %2, %3, [%4], [%5], adds;\n"                                            \
      "}" ::"r"(d),                                                                       \
      "l"(a), "l"(b), "r"(instruction), "r"(scales_a), "r"(scales_b), "r"(unsigned{adds}) \
      : "memory")
#define GPUBENCH_TCGEN05_SCALED_PRODUCT(name, group)                                           \
  template <gpubench::Tcgen05Type type>                                                        \
  __device__ inline void name(unsigned d, std::uint64_t a, std::uint64_t b,                    \
                              std::uint32_t instruction, unsigned scales_a, unsigned scales_b, \
                              bool adds) {                                                     \
    if constexpr (type == gpubench::Tcgen05Type::mxfp8) {                                      \
      GPUBENCH_TCGEN05_SCALED_KIND(group, "mxf8f6f4.block_scale.scale_vec::1X");               \
    } else {                                                                                   \
      GPUBENCH_TCGEN05_SCALED_KIND(group, "mxf4nvf4.block_scale.scale_vec::4X");               \
    }                                                                                          \
  }
GPUBENCH_TCGEN05_SCALE_COPY(tcgen05_copy_scales, "1")
GPUBENCH_TCGEN05_SCALED_PRODUCT(tcgen05_mma_scaled, "1")
#else
__device__ inline void tcgen05_copy_scales(unsigned, std::uint64_t) { __trap(); }
template <gpubench::Tcgen05Type type>
__device__ inline void tcgen05_mma_scaled(unsigned, std::uint64_t, std::uint64_t, std::uint32_t,
                                          unsigned, unsigned, bool) {
  __trap();
}
#endif
