// What a kernel says that is launched before the kernel before it has ended. sm_90 and later; a
// trap before. (The model's answer to the same names:
// harness/platform/model/include/programmatic_launch.hpp.)
#pragma once

#include <cuda_runtime.h>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// The next kernel may begin once every block has come here or ended.
__device__ inline void let_next_kernel_begin() { cudaTriggerProgrammaticLaunchCompletion(); }
// Waits until the kernel before has ended and what it wrote can be seen.
__device__ inline void wait_for_kernel_before() { cudaGridDependencySynchronize(); }
#else
__device__ inline void let_next_kernel_begin() { __trap(); }
__device__ inline void wait_for_kernel_before() { __trap(); }
#endif
