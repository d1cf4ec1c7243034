// Whether the code that the driver has chosen has the instructions of one architecture alone.
#pragma once

#include <string>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/residency.hpp"

namespace gpubench {

// "" or how to build for `what`, without which its kernels trap, and take every later row along.
// `report`, one of kernels/common/*_marker.cuh, is compiled and chosen together with the kernels of
// the file that includes it.
// `suffix`: "" where the code is of every later architecture too.
inline std::string why_not_compiled(void (*report)(unsigned*), const std::string& what,
                                    const std::string& suffix = "a") {
  const DeviceBuffer<unsigned> answer(1);
  launch(report, 1, 1, 0, nullptr, answer.data());
  if (answer.download().front() == 1) return "";
  const auto digits = [](cudaDeviceAttr part) { return std::to_string(device_attribute(part)); };
  return "this build has no " + what +
         ": build it with -DCMAKE_CUDA_ARCHITECTURES=" + digits(cudaDevAttrComputeCapabilityMajor) +
         digits(cudaDevAttrComputeCapabilityMinor) + suffix;
}

}  // namespace gpubench
