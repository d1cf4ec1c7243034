// Whether kernels of mma.sync with block scales can run here.
#pragma once

#include <string>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/residency.hpp"
#include "kernels/common/block_scales_marker.cuh"

namespace gpubench {

// "" or why they would trap, which would take every later row along: on another compute capability,
// and in code for plain sm_120. The marker is compiled, and chosen by the driver, together with the
// kernels of the file that includes this.
inline std::string why_no_block_scaled_mma() {
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 12) {
    return "mma.sync with block scales is an instruction of compute capability 12.x alone";
  }
  const DeviceBuffer<unsigned> answer(1);
  launch(report_block_scaled_mma, 1, 1, 0, nullptr, answer.data());
  if (answer.download().front() == 1) return "";
  const std::string name =
      "12" + std::to_string(device_attribute(cudaDevAttrComputeCapabilityMinor));
  return "this code has no block scales: build it with -DCMAKE_CUDA_ARCHITECTURES=" + name + "a";
}

}  // namespace gpubench
