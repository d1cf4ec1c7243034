// The SM's clock, from inside a kernel: how the GPU tells one line's latency from another's. (On
// the model it is an error: harness/model/include/device_clock.hpp.)
#pragma once

#include <cuda_runtime.h>

__device__ inline long long sm_cycles() { return clock64(); }
// Past L1, to L2.
template <class T>
__device__ T load_from_l2(const T* address) {
  return __ldcg(address);
}
