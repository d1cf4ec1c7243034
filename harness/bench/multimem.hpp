// Whether kernels whose sums a switch takes can run here.
#pragma once

#include <string>

#include "harness/bench/compiled_for.hpp"
#include "harness/cuda/multicast_memory.hpp"
#include "harness/cuda/residency.hpp"
#include "kernels/common/multimem_marker.cuh"

namespace gpubench {

// "" or why they would trap, or have nothing to work on.
inline std::string why_no_multimem(const GpuRanks& ranks) {
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 9) {
    return "multimem begins at compute capability 9.0";
  }
  const std::string why = why_not_compiled(report_multimem, "multimem", "");
  if (!why.empty()) return why;
  return MulticastMemory::why_not(ranks);
}

}  // namespace gpubench
