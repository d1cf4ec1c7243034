// Asks the code that a device runs what it was compiled for.
#pragma once

#include <cuda_runtime.h>

#include <tcgen05.hpp>

// Leaves 1 where the code beside this has tcgen05, 0 where it would trap; then the same of its
// products of integers.
static __global__ void report_tcgen05(unsigned* out) {
  out[0] = has_tcgen05() ? 1 : 0;
  out[1] = has_tcgen05_int8() ? 1 : 0;
}
