// mma.sync with block scales, for the model device. (The GPU's answer to the same names, and what
// they mean: harness/platform/gpu/include/block_scaled_mma.hpp.)
#pragma once

#include "harness/platform/model/include/warp_matrix.h"

constexpr bool has_block_scaled_mma() { return true; }

#define GPUBENCH_MMA(name, type)                                                        \
  template <unsigned byte_a, unsigned thread_a, unsigned byte_b, unsigned thread_b>     \
  __forceinline__ void name(float(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2], \
                            unsigned of_a, unsigned of_b) {                             \
    gpubench::model::multiply_matrices(                                                 \
        gpubench::model::Tensor::type,                                                  \
        {.d = d,                                                                        \
         .a = a,                                                                        \
         .b = b,                                                                        \
         .c = d,                                                                        \
         .scales = {of_a, of_b, byte_a, thread_a, byte_b, thread_b}});                  \
  }
GPUBENCH_MMA(mma_m16n8k32_mxfp8, mxfp8)
GPUBENCH_MMA(mma_m16n8k64_nvfp4, nvfp4)
#undef GPUBENCH_MMA
