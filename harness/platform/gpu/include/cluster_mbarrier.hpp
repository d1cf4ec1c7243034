// mbarriers at which other blocks of a cluster arrive: by their threads, by copies that they ask
// for and by commits of a pair's products. sm_90 and later; a trap before. (The model's answer to
// the same names: harness/platform/model/include/cluster_mbarrier.hpp.)
//
// The thread that has initialised such barriers calls cluster_mbarrier_fence() once behind them
// all, before the cluster meets. Their phases are waited for by cluster_mbarrier_wait(), which
// knows what the arriving blocks did before, where mbarrier_wait() knows its own block's part
// alone. All else is as bulk_copy.hpp says.  (PTX ISA, "fence", "mbarrier.try_wait", "Memory
// Consistency Model".)
#pragma once

#include <cuda_runtime.h>

#include "bulk_copy.hpp"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// For the other blocks' threads, and for their copy engines and Tensor Cores.
__device__ inline void cluster_mbarrier_fence() {
  asm volatile(
      "fence.mbarrier_init.release.cluster;\n"
      "fence.proxy.async.shared::cluster;" ::
          : "memory");
}
__device__ inline void cluster_mbarrier_wait(Mbarrier* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "waiting:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra waiting;\n"
      "}" ::"r"(place_in_shared(barrier)),
      "r"(parity)
      : "memory");
}
#else
__device__ inline void cluster_mbarrier_fence() { __trap(); }
__device__ inline void cluster_mbarrier_wait(Mbarrier*, unsigned) { __trap(); }
#endif
