// Thread block clusters for the model device. (The GPU's answer to the same names, and what they
// mean: harness/platform/gpu/include/cluster.hpp.)
//
// What blocks of a cluster share is dynamic: a static shared variable exists once per thread of the
// host, which runs all of them in turns.
#pragma once

#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {
unsigned cluster_rank() noexcept;
unsigned cluster_blocks() noexcept;
void cluster_barrier() noexcept;
void* shared_of(const void* mine, unsigned rank) noexcept;
}  // namespace gpubench::model

__forceinline__ unsigned cluster_rank() { return gpubench::model::cluster_rank(); }
__forceinline__ unsigned cluster_blocks() { return gpubench::model::cluster_blocks(); }
__forceinline__ void cluster_sync() { gpubench::model::cluster_barrier(); }
template <class T>
__forceinline__ T* shared_of(T* mine, unsigned rank) {
  return static_cast<T*>(gpubench::model::shared_of(mine, rank));
}
