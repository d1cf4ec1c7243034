// 2 to the power of x, an operation of the special-function unit. (The GPU's answer to the same
// name, which is less exact: harness/platform/gpu/include/fast_exp2.hpp.)
#pragma once

#include <cmath>

#include "harness/platform/model/include/device_language.h"

__forceinline__ float fast_exp2(float x) { return exp2f(x); }
