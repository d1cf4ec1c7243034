// The SM's clock, which the model does not have: a kernel that asks is an error.
// (The GPU's answer to the same names: harness/platform/gpu/include/device_clock.hpp.)
#pragma once

#include "harness/platform/model/include/device_language.h"

__forceinline__ long long sm_cycles() { return clock64(); }
template <class T>
__forceinline__ T* load_pointer(T* const* address) {
  return *address;
}
__forceinline__ unsigned long long load_from_l2(const void* address) {
  return *static_cast<const unsigned long long*>(address);
}
