// Products of a pair of blocks, for the model device. (The GPU's answer to the same names, and what
// they mean: harness/platform/gpu/include/tcgen05_pair.hpp.)
#pragma once

#include <cluster_mbarrier.hpp>
#include <tcgen05.hpp>

namespace gpubench::model {
// At the mbarrier that is there in the even block of the pair.
void arrive_in_even_block(void* barrier) noexcept;
void copy_box_of_pair(void* to_shared, const void* map, unsigned column, unsigned row,
                      void* barrier) noexcept;
}  // namespace gpubench::model

template <unsigned columns>
__forceinline__ void tcgen05_pair_alloc(unsigned* place) {
  gpubench::model::allocate_tensor_memory(place, columns, gpubench::model::CtaGroup::pair);
}
template <unsigned columns>
__forceinline__ void tcgen05_pair_dealloc(unsigned address) {
  gpubench::model::free_tensor_memory(address, columns, gpubench::model::CtaGroup::pair);
}
__forceinline__ void tcgen05_pair_stored() {}
template <gpubench::Tcgen05Type type>
__forceinline__ void tcgen05_pair_mma(unsigned d, std::uint64_t a, std::uint64_t b,
                                      std::uint32_t instruction, bool adds) {
  gpubench::model::multiply_to_tensor_memory({.type = type,
                                              .d = d,
                                              .a = a,
                                              .b = b,
                                              .instruction = instruction,
                                              .adds = adds,
                                              .group = gpubench::model::CtaGroup::pair});
}
__forceinline__ void tcgen05_pair_commit(Mbarrier* barrier, unsigned short ranks) {
  gpubench::model::commit_pair_products(barrier, ranks);
}
__forceinline__ void tcgen05_pair_commit(Mbarrier* barrier) {
  gpubench::model::commit_tensor_products(barrier, gpubench::model::CtaGroup::pair);
}
__forceinline__ void pair_arrive(Mbarrier* barrier) {
  gpubench::model::arrive_in_even_block(barrier);
}
__forceinline__ void pair_copy_box(void* to_shared, const CUtensorMap* map, unsigned column,
                                   unsigned row, Mbarrier* barrier) {
  gpubench::model::copy_box_of_pair(to_shared, map, column, row, barrier);
}
