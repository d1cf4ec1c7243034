// Bulk copies: one thread has the copy engine of its SM (TMA) bring a piece of global memory into
// shared memory, and whoever needs it waits at a barrier that counts the bytes. sm_90 and later; a
// trap before. (The model's answer to the same names:
// harness/platform/model/include/bulk_copy.hpp.)
//
// The life of a stage: one thread calls mbarrier_init(), and the block meets (__syncthreads). For
// each of its tiles, one thread calls mbarrier_expect() with the bytes to come and bulk_copy() for
// them; every thread that reads them calls mbarrier_wait() first, with parity 0 for the stage's
// first tile, 1 for the second, and so on in turns. The block meets before the next tile is asked
// for.  (PTX ISA, "mbarrier" and "cp.async.bulk".)
//
// Or no block meets again: whoever has read a tile arrives at a second barrier of the stage, which
// was initialised with as many arrivals as there are readers, and the thread that asks for the next
// tile waits there first.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

using Mbarrier = unsigned long long;  // in shared memory

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ inline unsigned place_in_shared(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
// A phase ends with so many arrivals and the bytes that mbarrier_expect() spoke of, which is an
// arrival.
__device__ inline void mbarrier_init(Mbarrier* barrier, unsigned arrivals = 1) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place_in_shared(barrier)),
               "r"(arrivals)
               : "memory");
  // The engine is to see it as well.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void mbarrier_expect(Mbarrier* barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place_in_shared(barrier)),
      "r"(bytes)
      : "memory");
}
// What this thread did before is known to those who have seen the phase end.
__device__ inline void mbarrier_arrive(Mbarrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place_in_shared(barrier))
               : "memory");
}
// `bytes` and both addresses: multiples of 16.
__device__ inline void bulk_copy(void* to_shared, const void* from_global, unsigned bytes,
                                 Mbarrier* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(place_in_shared(to_shared)),
      "l"(__cvta_generic_to_global(from_global)), "r"(bytes), "r"(place_in_shared(barrier))
      : "memory");
}
// A box of a matrix (harness/cuda/tensor_map.hpp), from element `column` of row `row` on. `map` is
// a __grid_constant__ parameter of the kernel; `to_shared` a multiple of 128, and of 1024 where
// rows of 128 bytes are swizzled.
__device__ inline void bulk_copy_box(void* to_shared, const CUtensorMap* map, unsigned column,
                                     unsigned row, Mbarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(place_in_shared(to_shared)),
      "l"(map), "r"(column), "r"(row), "r"(place_in_shared(barrier))
      : "memory");
}
__device__ inline void mbarrier_wait(Mbarrier* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "waiting:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra waiting;\n"
      "}" ::"r"(place_in_shared(barrier)),
      "r"(parity)
      : "memory");
}
#else
__device__ inline unsigned place_in_shared(const void*) { __trap(); }
__device__ inline void mbarrier_init(Mbarrier*, unsigned = 1) { __trap(); }
__device__ inline void mbarrier_arrive(Mbarrier*) { __trap(); }
__device__ inline void bulk_copy_box(void*, const CUtensorMap*, unsigned, unsigned, Mbarrier*) {
  __trap();
}
__device__ inline void mbarrier_expect(Mbarrier*, unsigned) { __trap(); }
__device__ inline void bulk_copy(void*, const void*, unsigned, Mbarrier*) { __trap(); }
__device__ inline void mbarrier_wait(Mbarrier*, unsigned) { __trap(); }
#endif
