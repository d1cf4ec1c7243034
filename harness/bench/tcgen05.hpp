// Whether kernels of tcgen05 can run here.
#pragma once

#include <string>
#include <utility>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/residency.hpp"
#include "kernels/common/tcgen05_marker.cuh"

namespace gpubench {

// "" or why they would trap, which would take every later row along: on another compute capability,
// and in code for plain sm_100. The marker is compiled, and chosen by the driver, together with the
// kernels of the file that includes this.
inline std::string why_no_tcgen05(bool of_integers = false) {
  const std::pair here(device_attribute(cudaDevAttrComputeCapabilityMajor),
                       device_attribute(cudaDevAttrComputeCapabilityMinor));
  if (here != std::pair(10, 0) && here != std::pair(10, 3)) {
    return "tcgen05 is compiled for compute capabilities 10.0 and 10.3 alone";
  }
  if (of_integers && here.second == 3) {
    return "compute capability 10.3 has no tcgen05.mma of integers";
  }
  const DeviceBuffer<unsigned> answers(2);
  launch(report_tcgen05, 1, 1, 0, nullptr, answers.data());
  if (answers.download()[of_integers ? 1 : 0] == 1) return "";
  const std::string name = "10" + std::to_string(here.second);
  return "this code has no tcgen05: build it with -DCMAKE_CUDA_ARCHITECTURES=" + name + "a";
}

}  // namespace gpubench
