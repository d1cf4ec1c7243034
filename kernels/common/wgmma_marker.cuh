// Asks the code that a device runs what it was compiled for.
#pragma once

#include <cuda_runtime.h>

#include <warp_mma.hpp>

// Leaves 1 where the code beside this has wgmma, 0 where it would trap.
static __global__ void report_wgmma(unsigned* out) { *out = has_wgmma() ? 1 : 0; }
