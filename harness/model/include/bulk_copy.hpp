// Bulk copies for the model device. (The GPU's answer to the same names, and what they mean:
// harness/gpu/include/bulk_copy.hpp.) The copy is made at once, and whoever reads what it brings
// without having waited is reported.
#pragma once

#include "harness/model/include/device_language.h"

namespace gpubench::model {
void begin_mbarrier(void* barrier) noexcept;
void expect_bytes(void* barrier, std::size_t bytes) noexcept;
void copy_bulk(void* to_shared, const void* from_global, std::size_t bytes, void* barrier) noexcept;
void wait_for_phase(void* barrier, unsigned parity) noexcept;
}  // namespace gpubench::model

using Mbarrier = unsigned long long;

__forceinline__ void mbarrier_init(Mbarrier* barrier) { gpubench::model::begin_mbarrier(barrier); }
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
