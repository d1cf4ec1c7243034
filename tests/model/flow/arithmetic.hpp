// What kernels compute with, and their oracle: conditions and indices that no compiler foresees.
#pragma once

#include <cuda_runtime.h>

namespace gpubench::flow {

__host__ __device__ constexpr unsigned mixed(unsigned value, unsigned site) {
  unsigned z = (value ^ site * 0x9e3779b1u) * 0x85ebca6bu;
  z = (z ^ (z >> 15)) * 0xc2b2ae35u;
  return z ^ (z >> 13);
}

// Whether a condition holds in `amount` of 8 cases.
__host__ __device__ constexpr bool holds(unsigned value, unsigned site, unsigned amount) {
  return mixed(value, site) % 8 < amount;
}

// Whether a loop goes on after `trips`: ever less often, and never after 8.
__host__ __device__ constexpr bool goes_on(unsigned value, unsigned trips, unsigned site,
                                           unsigned amount) {
  return mixed(value + trips, site) % 8 + trips < amount;
}

}  // namespace gpubench::flow
