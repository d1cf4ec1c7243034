// Whether products of tcgen05 with block scales say anything of the rate that a device has.
#pragma once

#include <string>

#include "harness/bench/tcgen05.hpp"

namespace gpubench {

// "" or why not, where they run.
inline std::string why_not_the_rate(bool is_nvfp4) {
  return is_nvfp4 && device_attribute(cudaDevAttrComputeCapabilityMinor) == 3
             ? "the rate of compute capability 10.3 is that of products of 96 along k, not of 64"
             : "";
}

}  // namespace gpubench
