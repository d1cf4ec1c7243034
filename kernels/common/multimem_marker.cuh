// Asks the code that a device runs what it was compiled for.
#pragma once

#include <cuda_runtime.h>

#include <multimem.hpp>

// Leaves 1 where the code beside this has multimem, 0 where it would trap.
static __global__ void report_multimem(unsigned* out) { *out = has_multimem() ? 1 : 0; }
