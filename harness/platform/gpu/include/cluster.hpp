// Thread block clusters: blocks that run at the same time, and reach one another's shared memory
// (distributed shared memory). gpubench::launch_cluster() launches them. sm_90 and later; a trap
// before. (The model's answer to the same names: harness/platform/model/include/cluster.hpp.)
//
// A block may touch another's shared memory once the cluster has met (cluster_sync), and the other
// must not end until it is done with that, which they make sure of by meeting again.
#pragma once

#include <cuda_runtime.h>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ inline unsigned cluster_rank() {  // of this block, in its cluster
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline unsigned cluster_blocks() {
  unsigned blocks;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}
// All threads of the cluster meet; what they did before is known to all.
__device__ inline void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}
// Where block `rank` of the cluster has what this block has at `mine`, in its shared memory.
template <class T>
__device__ T* shared_of(T* mine, unsigned rank) {
  unsigned long long theirs;
  asm("mapa.u64 %0, %1, %2;"
      : "=l"(theirs)
      : "l"(reinterpret_cast<unsigned long long>(mine)), "r"(rank));
  return reinterpret_cast<T*>(theirs);
}
#else
__device__ inline unsigned cluster_rank() { __trap(); }
__device__ inline unsigned cluster_blocks() { __trap(); }
__device__ inline void cluster_sync() { __trap(); }
template <class T>
__device__ T* shared_of(T*, unsigned) {
  __trap();
}
#endif
