// Asks the code that a device runs what it was compiled for.
#pragma once

#include <cuda_runtime.h>

#include <multicast.hpp>

// Leaves 1 where the code beside this has multicast copies, 0 where they would trap.
static __global__ void report_multicast(unsigned* out) { *out = has_multicast() ? 1 : 0; }
