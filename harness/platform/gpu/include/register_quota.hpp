// Registers that a block's warpgroups pass to each other. sm_90a, sm_100a and sm_103a; nothing
// elsewhere. (The model's answer to the same names:
// harness/platform/model/include/register_quota.hpp.)
#pragma once

#include <cuda_runtime.h>

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL) || \
    defined(__CUDA_ARCH_FEAT_SM103_ALL)
// A warpgroup's threads have so many registers each from here on, of those the block was given.
template <unsigned registers>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
template <unsigned registers>
__device__ inline void give_registers_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
#else
template <unsigned registers>
__device__ inline void take_registers() {}
template <unsigned registers>
__device__ inline void give_registers_back() {}
#endif
