// Bulk copies for the model device. (The GPU's answer to the same names, and what they mean:
// harness/platform/gpu/include/bulk_copy.hpp.) The copy is made at once, and whoever reads what it
// brings without having waited is reported.
#pragma once

// Tensor maps are parameters by value, and g++ says of each that it once passed such otherwise.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "harness/platform/model/include/cuda.h"
#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {
void begin_mbarrier(void* barrier, unsigned arrivals) noexcept;
void arrive_at(void* barrier) noexcept;
void copy_box(void* to_shared, const void* map, unsigned column, unsigned row,
              void* barrier) noexcept;
void expect_bytes(void* barrier, std::size_t bytes) noexcept;
void copy_bulk(void* to_shared, const void* from_global, std::size_t bytes, void* barrier) noexcept;
void wait_for_phase(void* barrier, unsigned parity) noexcept;
}  // namespace gpubench::model

using Mbarrier = unsigned long long;

// The lowest bits of the host's address stand for one in shared memory.
__forceinline__ unsigned place_in_shared(const void* pointer) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(pointer));
}
__forceinline__ void mbarrier_init(Mbarrier* barrier, unsigned arrivals = 1) {
  gpubench::model::begin_mbarrier(barrier, arrivals);
}
__forceinline__ void mbarrier_arrive(Mbarrier* barrier) { gpubench::model::arrive_at(barrier); }
__forceinline__ void bulk_copy_box(void* to_shared, const CUtensorMap* map, unsigned column,
                                   unsigned row, Mbarrier* barrier) {
  gpubench::model::copy_box(to_shared, map, column, row, barrier);
}
__forceinline__ void mbarrier_expect(Mbarrier* barrier, unsigned bytes) {
  gpubench::model::expect_bytes(barrier, bytes);
}
__forceinline__ void bulk_copy(void* to_shared, const void* from_global, unsigned bytes,
                               Mbarrier* barrier) {
  gpubench::model::copy_bulk(to_shared, from_global, bytes, barrier);
}
__forceinline__ void mbarrier_wait(Mbarrier* barrier, unsigned parity) {
  gpubench::model::wait_for_phase(barrier, parity);
}
