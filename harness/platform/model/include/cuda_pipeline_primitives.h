// cp.async: copies from global to shared memory that pass by the registers. On the model device the
// copy is made at once, so a missing wait goes unseen; its two accesses are recorded, and a kernel
// waits where it says that it does.
#pragma once

#include <cstddef>

#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {
void copy_asynchronously(void* to_shared, const void* from_global, std::size_t bytes,
                         std::size_t zeros) noexcept;
void commit_copies() noexcept;
void wait_for_copies(std::size_t groups_left) noexcept;
}  // namespace gpubench::model

// `size_and_align`: 4, 8 or 16 bytes, the last `zfill` of which are zeros and not read.
__forceinline__ void __pipeline_memcpy_async(void* __restrict__ dst_shared,
                                             const void* __restrict__ src_global,
                                             std::size_t size_and_align, std::size_t zfill = 0) {
  gpubench::model::copy_asynchronously(dst_shared, src_global, size_and_align, zfill);
}
__forceinline__ void __pipeline_commit() { gpubench::model::commit_copies(); }
// Until no more than the `prior` last committed groups of this thread are under way.
__forceinline__ void __pipeline_wait_prior(std::size_t prior) {
  gpubench::model::wait_for_copies(prior);
}
