// The profiler's switch: nothing listens on the model device.
#pragma once

#include "harness/model/include/cuda_runtime.h"

cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
