// Bulk copies to several blocks of a cluster, for the model device. (The GPU's answer to the same
// names, and what they mean: harness/platform/gpu/include/multicast.hpp.)
#pragma once

#include <cluster_mbarrier.hpp>

#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {
void copy_bulk_to(std::uint16_t ranks, void* to_shared, const void* from_global, std::size_t bytes,
                  void* barrier) noexcept;
void copy_box_to(std::uint16_t ranks, void* to_shared, const void* map, unsigned column,
                 unsigned row, void* barrier) noexcept;
}  // namespace gpubench::model

constexpr bool has_multicast() { return true; }
__forceinline__ void bulk_copy_multicast(void* to_shared, const void* from_global, unsigned bytes,
                                         Mbarrier* barrier, unsigned short ranks) {
  gpubench::model::copy_bulk_to(ranks, to_shared, from_global, bytes, barrier);
}
__forceinline__ void bulk_copy_box_multicast(void* to_shared, const CUtensorMap* map,
                                             unsigned column, unsigned row, Mbarrier* barrier,
                                             unsigned short ranks) {
  gpubench::model::copy_box_to(ranks, to_shared, map, column, row, barrier);
}
