// Programmatic dependent launch for the model device, where kernels run one after the other: only
// the time at which they begin is earlier, and that the runtime sees to. (The GPU's answer to the
// same names, and what they mean: harness/platform/gpu/include/programmatic_launch.hpp.)
#pragma once

#include "harness/platform/model/include/device_language.h"

__forceinline__ void let_next_kernel_begin() {}
__forceinline__ void wait_for_kernel_before() {}
