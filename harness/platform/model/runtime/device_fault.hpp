#pragma once

#include <stdexcept>
#include <string>

#include "harness/platform/model/include/cuda_runtime.h"

namespace gpubench::model {

// Thrown where an operation is carried out, caught where the host notices. The device is lost.
struct DeviceFault : std::runtime_error {
  explicit DeviceFault(const std::string& what, cudaError_t code = cudaErrorLaunchFailure)
      : std::runtime_error(what), error(code) {}
  cudaError_t error;
};

}  // namespace gpubench::model
