// Asks the code that a device runs what it was compiled for.
#pragma once

#include <cuda_runtime.h>

#include <tcgen05.hpp>

// Leaves 1 where the code beside this has tcgen05, 0 where it would trap.
static __global__ void report_tcgen05(unsigned* out) { *out = has_tcgen05() ? 1 : 0; }
// The same for its products of integers.
static __global__ void report_tcgen05_int8(unsigned* out) { *out = has_tcgen05_int8() ? 1 : 0; }
