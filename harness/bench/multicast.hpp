// Whether kernels whose copies go to several blocks can run here.
#pragma once

#include <string>
#include <utility>

#include "harness/bench/compiled_for.hpp"
#include "kernels/common/multicast_marker.cuh"

namespace gpubench {

// "" or why they would trap: on another compute capability, and in code for plain sm_90 or sm_100.
inline std::string why_no_multicast() {
  const std::pair here(device_attribute(cudaDevAttrComputeCapabilityMajor),
                       device_attribute(cudaDevAttrComputeCapabilityMinor));
  if (here != std::pair(9, 0) && here != std::pair(10, 0) && here != std::pair(10, 3)) {
    return "multicast kernels are built only for compute capabilities 9.0, 10.0 and 10.3";
  }
  return why_not_compiled(report_multicast, "multicast");
}

}  // namespace gpubench
