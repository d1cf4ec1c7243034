// Whether kernels of mma.sync with block scales can run here.
#pragma once

#include <string>

#include "harness/bench/compiled_for.hpp"
#include "kernels/common/block_scales_marker.cuh"

namespace gpubench {

// "" or why they would trap: on another compute capability, and in code for plain sm_120.
inline std::string why_no_block_scaled_mma() {
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) != 12) {
    return "mma.sync with block scales is an instruction of compute capability 12.x alone";
  }
  return why_not_compiled(report_block_scaled_mma, "mma.sync with block scales");
}

}  // namespace gpubench
