// The dynamic shared memory of the launch, on the model device.
#pragma once

#include "harness/platform/model/include/device_language.h"

__forceinline__ void* dynamic_shared() { return gpubench::model::dynamic_shared_memory(); }
