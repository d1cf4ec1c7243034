// The profiler's switch: nothing listens on the model device.
#pragma once

#include "harness/platform/model/include/cuda_runtime.h"

cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
