// mma.sync and wgmma for the model device. (The GPU's answer to the same names, and what they mean:
// harness/platform/gpu/include/warp_mma.hpp.)
#pragma once

#include "harness/platform/model/include/warp_matrix.h"
#include "matrix_descriptor.hpp"

#define GPUBENCH_MMA(name, type, Register, registers_of_a, registers_of_b, Sum)      \
  __forceinline__ void name(Sum(&d)[4], const Register(&a)[registers_of_a],          \
                            const Register(&b)[registers_of_b], const Sum(&c)[4]) {  \
    gpubench::model::multiply_matrices(gpubench::model::Tensor::type, {d, a, b, c}); \
  }
GPUBENCH_MMA(mma_m16n8k16_fp16, fp16, unsigned, 4, 2, float)
GPUBENCH_MMA(mma_m16n8k16_bf16, bf16, unsigned, 4, 2, float)
GPUBENCH_MMA(mma_m16n8k8_tf32, tf32, unsigned, 4, 2, float)
GPUBENCH_MMA(mma_m16n8k32_fp8, fp8, unsigned, 4, 2, float)
GPUBENCH_MMA(mma_m16n8k32_int8, int8, unsigned, 4, 2, int)
GPUBENCH_MMA(mma_m16n8k16_fp64, fp64, double, 8, 4, double)
#undef GPUBENCH_MMA

template <unsigned products>
__forceinline__ void mma_m16n8k16_bf16(float (&d)[products][4], const unsigned (&a)[4],
                                       const unsigned (&b)[2 * products]) {
  gpubench::model::multiply_matrices(gpubench::model::Tensor::bf16, {d, a, b, d, products});
}

__forceinline__ void ldmatrix(unsigned* to, const void* row) {
  gpubench::model::load_matrices(to, row, false);
}
__forceinline__ void ldmatrix_transposed(unsigned* to, const void* row) {
  gpubench::model::load_matrices(to, row, true);
}

using gpubench::model::tile_offset;
inline constexpr unsigned wgmma_columns = gpubench::model::warpgroup_columns;

#define GPUBENCH_WGMMA(name, type, Sum)                                                     \
  __forceinline__ void name(Sum(&d)[64], const void* a, const void* b) {                    \
    gpubench::model::multiply_warpgroup_tiles(gpubench::model::Tensor::type, {d, a, b, d}); \
  }
GPUBENCH_WGMMA(wgmma_m64n128_fp16, fp16, float)
GPUBENCH_WGMMA(wgmma_m64n128_bf16, bf16, float)
GPUBENCH_WGMMA(wgmma_m64n128_tf32, tf32, float)
GPUBENCH_WGMMA(wgmma_m64n128_fp8, fp8, float)
GPUBENCH_WGMMA(wgmma_m64n128_int8, int8, int)
#undef GPUBENCH_WGMMA

constexpr bool has_wgmma() { return true; }
// Multiplications are made at once here, so there is nothing to begin or to wait for.
__forceinline__ void wgmma_stored() {}
template <class... Registers>
__forceinline__ void wgmma_begin(Registers&...) {}
template <class Sum>
__forceinline__ void wgmma_wait(Sum (&)[64]) {}

__forceinline__ void wgmma_m64n256k16_bf16(float (&d)[128], std::uint64_t a, std::uint64_t b,
                                           bool adds) {
  gpubench::model::multiply_shared({gpubench::model::Tensor::bf16, 256, d, a, b, adds});
}
__forceinline__ void wgmma_m64n128k16_bf16(float (&d)[16][4], std::uint64_t a, std::uint64_t b,
                                           bool adds) {
  gpubench::model::multiply_shared({gpubench::model::Tensor::bf16, 128, d[0], a, b, adds});
}
template <unsigned fragments>
__forceinline__ void wgmma_m64k16_bf16_transposed(float (&d)[fragments][4], const unsigned (&a)[4],
                                                  std::uint64_t b) {
  gpubench::model::multiply_shared(
      {gpubench::model::Tensor::bf16, 8 * fragments, d[0], 0, b, true, a, true});
}
__forceinline__ void wgmma_commit() { gpubench::model::commit_products(); }
template <unsigned left, class... Registers>
__forceinline__ void wgmma_wait_for(Registers&...) {
  gpubench::model::wait_for_products(left);
}
