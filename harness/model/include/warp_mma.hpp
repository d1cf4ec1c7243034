// mma.sync for the model device. (The GPU's answer to the same names, and what they mean:
// harness/gpu/include/warp_mma.hpp.)
#pragma once

#include "harness/model/include/warp_matrix.h"

__forceinline__ void mma_m16n8k16_fp16(float (&d)[4], const unsigned (&a)[4],
                                       const unsigned (&b)[2], const float (&c)[4]) {
  gpubench::model::multiply_matrices(gpubench::model::Tensor::fp16, d, a, b, c);
}
__forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4],
                                       const unsigned (&b)[2], const float (&c)[4]) {
  gpubench::model::multiply_matrices(gpubench::model::Tensor::bf16, d, a, b, c);
}
__forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                      const float (&c)[4]) {
  gpubench::model::multiply_matrices(gpubench::model::Tensor::tf32, d, a, b, c);
}
