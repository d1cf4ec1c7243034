// Products of a pair of blocks, whose two SMs make them together (cta_group::2). sm_100a and
// sm_103a; a trap elsewhere. (The model's answer to the same names:
// harness/platform/model/include/tcgen05_pair.hpp.)
//
// A pair is two blocks of a cluster whose ranks differ in the last bit alone. One thread of the
// even block asks for a product of 256 rows. Each block has 128 rows of a, half the columns of b,
// and the sums of its rows, all at the same place in its own shared and tensor memory: so the pair
// brings b once, where two blocks with products of their own would bring it twice.
//
// The life of a product is that of one block (tcgen05.hpp) with these differences. A warp of each
// block calls tcgen05_pair_alloc() and, at last, tcgen05_pair_dealloc(): the first one waits for
// the other, which must have begun: the cluster meets (cluster_sync) before. Instead of a block,
// the cluster meets after tcgen05_pair_stored() where threads have stored into a or b, and before
// columns are given back. tcgen05_pair_commit()
// arrives in both blocks at once. tcgen05_ld() is as ever: of the block's own sums. A kernel that
// uses a pair uses no tcgen05_alloc(), _dealloc(), _mma() or _commit() of one block.
//
// Or the cluster does not meet: pair_copy_box() brings a block's share of the matrices and arrives
// at an mbarrier of the even block, which expects the bytes of both, and pair_arrive() says there
// that a warp has read its sums. For mbarriers at which the other block arrives,
// cluster_mbarrier.hpp has the fence and the wait.  (PTX ISA, "CTA Pair", "Issue Granularity",
// "tcgen05.alloc", "tcgen05.commit", "cp.async.bulk.tensor".)
#pragma once

#include <cluster.hpp>
#include <cluster_mbarrier.hpp>
#include <tcgen05.hpp>

#ifdef GPUBENCH_TCGEN05
template <unsigned columns>
__device__ inline void tcgen05_pair_alloc(unsigned* place) {
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(
                   place_in_shared(place)),
               "n"(columns)
               : "memory");
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
}
template <unsigned columns>
__device__ inline void tcgen05_pair_dealloc(unsigned address) {
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "n"(columns)
               : "memory");
}
// The other block's Tensor Cores read it too.
__device__ inline void tcgen05_pair_stored() {
  asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
}

// One thread of the even block.
GPUBENCH_TCGEN05_PRODUCT(tcgen05_pair_mma, "2")
// By the same thread: arrives at the mbarrier that is there in each block of `ranks`, which has a
// bit for each.
__device__ inline void tcgen05_pair_commit(Mbarrier* barrier, unsigned short ranks) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
      "[%0], %1;" ::"r"(place_in_shared(barrier)),
      "h"(ranks)
      : "memory");
}
// Arrives in this block alone.
__device__ inline void tcgen05_pair_commit(Mbarrier* barrier) {
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                   place_in_shared(barrier))
               : "memory");
}

// Where the even block has what this one has there, in the cluster's shared memory.
__device__ inline unsigned place_in_even_block(const void* mine) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(there)
      : "r"(place_in_shared(mine)), "r"(cluster_rank() & ~1u));
  return there;
}
// Both at the mbarrier that the even block has there: an arrival, and the bytes of a copy to this
// block.
__device__ inline void pair_arrive(Mbarrier* barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   place_in_even_block(barrier))
               : "memory");
}
__device__ inline void pair_copy_box(void* to_shared, const CUtensorMap* map, unsigned column,
                                     unsigned row, Mbarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".cta_group::2 [%0], [%1, {%2, %3}], [%4];" ::"r"(place_in_shared(to_shared)),
      "l"(map), "r"(column), "r"(row), "r"(place_in_even_block(barrier))
      : "memory");
}
#else
template <unsigned columns>
__device__ inline void tcgen05_pair_alloc(unsigned*) {
  __trap();
}
template <unsigned columns>
__device__ inline void tcgen05_pair_dealloc(unsigned) {
  __trap();
}
__device__ inline void tcgen05_pair_stored() {}
template <gpubench::Tcgen05Type type>
__device__ inline void tcgen05_pair_mma(unsigned, std::uint64_t, std::uint64_t, std::uint32_t,
                                        bool) {
  __trap();
}
__device__ inline void tcgen05_pair_commit(Mbarrier*, unsigned short) { __trap(); }
__device__ inline void tcgen05_pair_commit(Mbarrier*) { __trap(); }
__device__ inline void pair_arrive(Mbarrier*) { __trap(); }
__device__ inline void pair_copy_box(void*, const CUtensorMap*, unsigned, unsigned, Mbarrier*) {
  __trap();
}
#endif
