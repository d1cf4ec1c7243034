// Asks the code that a device runs what it was compiled for.
#pragma once

#include <cuda_runtime.h>

#include <block_scaled_mma.hpp>

// Leaves 1 where the code beside this has mma.sync with block scales, 0 where it would trap.
static __global__ void report_block_scaled_mma(unsigned* out) {
  *out = has_block_scaled_mma() ? 1 : 0;
}
