// Bulk copies that land in several blocks of a cluster: one read of global memory, and the same
// bytes at the same place in the shared memory of each. sm_90a, sm_100a and sm_103a; a trap
// elsewhere, where ptxas expects it to be slow. (The model's answer to the same names:
// harness/platform/model/include/multicast.hpp.)
//
// `ranks` has a bit for each block of the cluster that is to get them. In each of these, the bytes
// land where `to_shared` is in this block, and arrive at the mbarrier that is where `barrier` is in
// this block: there, a thread of that block calls mbarrier_expect() and those who read wait, as for
// a copy of their own, by what cluster_mbarrier.hpp has. The cluster meets (cluster_sync) after
// cluster_mbarrier_fence() and before the first copy, and whenever a block is to be done with what
// the next copy replaces; a block must not end before what it has been sent is there.  (PTX ISA,
// "cp.async.bulk" and "cp.async.bulk.tensor", .multicast::cluster.)
#pragma once

#include <cuda_runtime.h>

#include "cluster_mbarrier.hpp"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL) || \
    defined(__CUDA_ARCH_FEAT_SM103_ALL)
#define GPUBENCH_MULTICAST
#endif

// Whether this code has it, or traps.
__device__ constexpr bool has_multicast() {
#ifdef GPUBENCH_MULTICAST
  return true;
#else
  return false;
#endif
}

#ifdef GPUBENCH_MULTICAST
__device__ inline void bulk_copy_multicast(void* to_shared, const void* from_global, unsigned bytes,
                                           Mbarrier* barrier, unsigned short ranks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1], %2, [%3], %4;" ::"r"(place_in_shared(to_shared)),
      "l"(__cvta_generic_to_global(from_global)), "r"(bytes), "r"(place_in_shared(barrier)),
      "h"(ranks)
      : "memory");
}
__device__ inline void bulk_copy_box_multicast(void* to_shared, const CUtensorMap* map,
                                               unsigned column, unsigned row, Mbarrier* barrier,
                                               unsigned short ranks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(place_in_shared(to_shared)),
      "l"(map), "r"(column), "r"(row), "r"(place_in_shared(barrier)), "h"(ranks)
      : "memory");
}
#else
__device__ inline void bulk_copy_multicast(void*, const void*, unsigned, Mbarrier*,
                                           unsigned short) {
  __trap();
}
__device__ inline void bulk_copy_box_multicast(void*, const CUtensorMap*, unsigned, unsigned,
                                               Mbarrier*, unsigned short) {
  __trap();
}
#endif
