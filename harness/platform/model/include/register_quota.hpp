// Registers that warpgroups pass to each other, which the model does not count. (The GPU's answer
// to the same names, and what they mean: harness/platform/gpu/include/register_quota.hpp.)
#pragma once

#include "harness/platform/model/include/device_language.h"

template <unsigned registers>
__forceinline__ void take_registers() {}
template <unsigned registers>
__forceinline__ void give_registers_back() {}
