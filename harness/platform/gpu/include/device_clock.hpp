// What measures latencies from inside a kernel: the SM's clock, and loads that are just what they
// say. (The model's answer to the same names, which has no clock:
// harness/platform/model/include/device_clock.hpp.)
#pragma once

#include <cuda_runtime.h>

__device__ inline long long sm_cycles() { return clock64(); }
// Eight bytes of global memory: through every cache, and from L2, anew every time. (A pointer
// that comes from memory is not known to point to global memory, and the compiler takes a
// load for another one of the same address.)
template <class T>
__device__ T* load_pointer(T* const* address) {
  unsigned long long value;
  asm("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(address)));
  return reinterpret_cast<T*>(value);
}
__device__ inline unsigned long long load_from_l2(const void* address) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
               : "=l"(value)
               : "l"(__cvta_generic_to_global(address)));
  return value;
}
