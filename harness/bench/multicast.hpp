// Whether kernels whose copies go to several blocks can run here.
#pragma once

#include <string>
#include <utility>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/residency.hpp"
#include "kernels/common/multicast_marker.cuh"

namespace gpubench {

// "" or why they would trap, which would take every later row along: on another compute capability,
// and in code for plain sm_90 or sm_100. The marker is compiled, and chosen by the driver, together
// with the kernels of the file that includes this.
inline std::string why_no_multicast() {
  const std::pair here(device_attribute(cudaDevAttrComputeCapabilityMajor),
                       device_attribute(cudaDevAttrComputeCapabilityMinor));
  if (here != std::pair(9, 0) && here != std::pair(10, 0) && here != std::pair(10, 3)) {
    return "multicast is compiled for compute capabilities 9.0, 10.0 and 10.3 alone";
  }
  const DeviceBuffer<unsigned> answer(1);
  launch(report_multicast, 1, 1, 0, nullptr, answer.data());
  if (answer.download().front() == 1) return "";
  const std::string name = std::to_string(here.first) + std::to_string(here.second);
  return "this code has no multicast: build it with -DCMAKE_CUDA_ARCHITECTURES=" + name + "a";
}

}  // namespace gpubench
