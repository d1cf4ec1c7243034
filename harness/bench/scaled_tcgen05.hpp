// Whether a device has products of tcgen05 with block scales.
#pragma once

#include <string>

#include "harness/bench/tcgen05.hpp"

namespace gpubench {

// "" or why it has none, or none that say anything of its rate.
inline std::string why_no_scaled_tcgen05(bool is_nvfp4) {
  if (std::string why = why_no_tcgen05(); !why.empty()) return why;
  return is_nvfp4 && device_attribute(cudaDevAttrComputeCapabilityMinor) == 3
             ? "the rate of compute capability 10.3 is that of products of 96 along k, not of 64"
             : "";
}

}  // namespace gpubench
