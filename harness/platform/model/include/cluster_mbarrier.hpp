// mbarriers at which other blocks of a cluster arrive, for the model device. (The GPU's answer to
// the same names, and what they mean: harness/platform/gpu/include/cluster_mbarrier.hpp.)
#pragma once

#include <bulk_copy.hpp>

namespace gpubench::model {
void announce_mbarriers() noexcept;
void wait_for_phase_in_cluster(void* barrier, unsigned parity) noexcept;
}  // namespace gpubench::model

__forceinline__ void cluster_mbarrier_fence() { gpubench::model::announce_mbarriers(); }
__forceinline__ void cluster_mbarrier_wait(Mbarrier* barrier, unsigned parity) {
  gpubench::model::wait_for_phase_in_cluster(barrier, parity);
}
