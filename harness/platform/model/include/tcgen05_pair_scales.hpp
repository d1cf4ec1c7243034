// Products with block scales of a pair of blocks, for the model device. (The GPU's answer to the
// same names, and what they mean: harness/platform/gpu/include/tcgen05_pair_scales.hpp.)
#pragma once

#include <tcgen05_pair.hpp>
#include <tcgen05_scales.hpp>

__forceinline__ void tcgen05_pair_copy_scales(unsigned address, std::uint64_t rows) {
  gpubench::model::copy_to_tensor_memory(address, rows, gpubench::model::CtaGroup::pair);
}
template <gpubench::Tcgen05Type type>
__forceinline__ void tcgen05_pair_mma_scaled(unsigned d, std::uint64_t a, std::uint64_t b,
                                             std::uint32_t instruction, unsigned scales_a,
                                             unsigned scales_b, bool adds) {
  gpubench::model::multiply_to_tensor_memory(
      {type, d, a, b, instruction, adds, scales_a, scales_b, gpubench::model::CtaGroup::pair});
}
