// Products with sums in tensor memory, for the model device. (The GPU's answer to the same names,
// and what they mean: harness/platform/gpu/include/tcgen05.hpp.) Products are made at once, and who
// reads sums without having waited for the commit behind them is reported.
#pragma once

#include <bulk_copy.hpp>

#include "harness/platform/model/include/device_language.h"
#include "tcgen05_descriptor.hpp"

namespace gpubench::model {
// Whose an instruction is (.cta_group): of the block alone, or of the pair that it is in.
enum class CtaGroup : std::uint8_t { one = 1, pair = 2 };
// What one thread asks for. The descriptors are read as the PTX ISA has it, not as this project's
// kernels mean them.
struct TensorProduct {
  Tcgen05Type type;
  unsigned d;
  std::uint64_t a, b;
  std::uint32_t instruction;
  bool adds;
  unsigned scales_a = 0, scales_b = 0;  // addresses, of mxfp8 and nvfp4
  CtaGroup group = CtaGroup::one;
  bool a_is_in_columns = false;  // `a` is an address in tensor memory
};
void allocate_tensor_memory(unsigned* place, unsigned columns,
                            CtaGroup group = CtaGroup::one) noexcept;
void free_tensor_memory(unsigned address, unsigned columns,
                        CtaGroup group = CtaGroup::one) noexcept;
void multiply_to_tensor_memory(TensorProduct mine) noexcept;
void commit_tensor_products(void* barrier, CtaGroup group = CtaGroup::one) noexcept;
// To the mbarriers at that place in the blocks of `ranks`, a bit each.
void commit_pair_products(void* barrier, std::uint16_t ranks) noexcept;
// 32 rows of 16 bytes, to four columns of each quarter of the lanes.
void copy_to_tensor_memory(unsigned address, std::uint64_t descriptor,
                           CtaGroup group = CtaGroup::one) noexcept;
// 32 columns, which are there once they have been waited for.
void load_tensor_memory(void* to, unsigned address) noexcept;
void wait_for_tensor_memory() noexcept;
void store_tensor_memory(unsigned address, const void* from) noexcept;
void wait_for_tensor_stores() noexcept;
void fence_tensor_memory_before_sync() noexcept;
void fence_tensor_memory_after_sync() noexcept;
}  // namespace gpubench::model

constexpr bool has_tcgen05() { return true; }
constexpr bool has_tcgen05_int8() { return true; }

template <unsigned columns>
__forceinline__ void tcgen05_alloc(unsigned* place) {
  gpubench::model::allocate_tensor_memory(place, columns);
}
template <unsigned columns>
__forceinline__ void tcgen05_dealloc(unsigned address) {
  gpubench::model::free_tensor_memory(address, columns);
}
__forceinline__ void tcgen05_stored() {}
__forceinline__ void tcgen05_fence_before_sync() {
  gpubench::model::fence_tensor_memory_before_sync();
}
__forceinline__ void tcgen05_fence_after_sync() {
  gpubench::model::fence_tensor_memory_after_sync();
}
template <gpubench::Tcgen05Type type>
__forceinline__ void tcgen05_mma(unsigned d, std::uint64_t a, std::uint64_t b,
                                 std::uint32_t instruction, bool adds) {
  gpubench::model::multiply_to_tensor_memory({type, d, a, b, instruction, adds});
}
template <gpubench::Tcgen05Type type>
__forceinline__ void tcgen05_mma_of_columns(unsigned d, unsigned a, std::uint64_t b,
                                            std::uint32_t instruction, bool adds) {
  gpubench::model::multiply_to_tensor_memory({.type = type,
                                              .d = d,
                                              .a = a,
                                              .b = b,
                                              .instruction = instruction,
                                              .adds = adds,
                                              .a_is_in_columns = true});
}
__forceinline__ void tcgen05_commit(Mbarrier* barrier) {
  gpubench::model::commit_tensor_products(barrier);
}
template <class Register>
__forceinline__ void tcgen05_ld(Register (&to)[32], unsigned address) {
  gpubench::model::load_tensor_memory(to, address);
}
template <class Register>
__forceinline__ void tcgen05_wait_ld(Register (&)[32]) {
  gpubench::model::wait_for_tensor_memory();
}
template <class Register>
__forceinline__ void tcgen05_st(unsigned address, const Register (&from)[32]) {
  gpubench::model::store_tensor_memory(address, from);
}
__forceinline__ void tcgen05_wait_st() { gpubench::model::wait_for_tensor_stores(); }
