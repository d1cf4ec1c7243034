// Whether kernels of wgmma can run here.
#pragma once

#include <string>
#include <utility>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/residency.hpp"
#include "kernels/common/wgmma_marker.cuh"

namespace gpubench {

// "" or why they would trap, which would take every later row along: on another compute capability,
// and in code for plain sm_90. The marker is compiled, and chosen by the driver, together with the
// kernels of the file that includes this.
inline std::string why_no_wgmma() {
  const std::pair here(device_attribute(cudaDevAttrComputeCapabilityMajor),
                       device_attribute(cudaDevAttrComputeCapabilityMinor));
  if (here != std::pair(9, 0)) return "wgmma is an instruction of compute capability 9.0 alone";
  const DeviceBuffer<unsigned> answer(1);
  launch(report_wgmma, 1, 1, 0, nullptr, answer.data());
  if (answer.download().front() == 1) return "";
  return "compiled for sm_90, and wgmma is of sm_90a: -DCMAKE_CUDA_ARCHITECTURES=90a";
}

}  // namespace gpubench
