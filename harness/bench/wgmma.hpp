// Whether kernels of wgmma can run here.
#pragma once

#include <string>
#include <utility>

#include "harness/bench/compiled_for.hpp"
#include "kernels/common/wgmma_marker.cuh"

namespace gpubench {

// "" or why they would trap: on another compute capability, and in code for plain sm_90.
inline std::string why_no_wgmma() {
  const std::pair here(device_attribute(cudaDevAttrComputeCapabilityMajor),
                       device_attribute(cudaDevAttrComputeCapabilityMinor));
  if (here != std::pair(9, 0)) return "wgmma is an instruction of compute capability 9.0 alone";
  return why_not_compiled(report_wgmma, "wgmma");
}

}  // namespace gpubench
