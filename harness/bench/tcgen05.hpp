// Whether kernels of tcgen05 can run here.
#pragma once

#include <string>
#include <utility>

#include "harness/bench/compiled_for.hpp"
#include "kernels/common/tcgen05_marker.cuh"

namespace gpubench {

// "" or why they would trap: on another compute capability, and in code for plain sm_100.
inline std::string why_no_tcgen05(bool of_integers = false) {
  const std::pair here(device_attribute(cudaDevAttrComputeCapabilityMajor),
                       device_attribute(cudaDevAttrComputeCapabilityMinor));
  if (here != std::pair(10, 0) && here != std::pair(10, 3)) {
    return "tcgen05 is compiled for compute capabilities 10.0 and 10.3 alone";
  }
  if (of_integers && here.second == 3) {
    return "compute capability 10.3 has no tcgen05.mma of integers";
  }
  return of_integers ? why_not_compiled(report_tcgen05_int8, "tcgen05 of integers")
                     : why_not_compiled(report_tcgen05, "tcgen05");
}

}  // namespace gpubench
