// The dynamic shared memory of the launch. (The model's:
// harness/platform/model/include/dynamic_shared.hpp.)
#pragma once

#include <cuda_runtime.h>

__device__ inline void* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char bytes[];
  return bytes;
}
