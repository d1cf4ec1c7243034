// a * b + c of 32-bit integers for the model device, counted. (The GPU's answer to the same name:
// harness/platform/gpu/include/integer_mad.hpp.)
#pragma once

#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {
int multiply_add(int a, int b, int c) noexcept;  // wraps around
}

__forceinline__ int mad_lo(int a, int b, int c) { return gpubench::model::multiply_add(a, b, c); }
