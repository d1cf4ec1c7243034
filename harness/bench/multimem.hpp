// Whether kernels whose sums a switch takes can run here.
#pragma once

#include <string>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/multicast_memory.hpp"
#include "harness/cuda/residency.hpp"
#include "kernels/common/multimem_marker.cuh"

namespace gpubench {

// "" or why they would trap, or have nothing to work on. The marker is compiled, and chosen by the
// driver, together with the kernels of the file that includes this.
inline std::string why_no_multimem(const GpuRanks& ranks) {
  const int major = device_attribute(cudaDevAttrComputeCapabilityMajor);
  if (major < 9) return "multimem begins at compute capability 9.0";
  const DeviceBuffer<unsigned> answer(1);
  launch(report_multimem, 1, 1, 0, nullptr, answer.data());
  if (answer.download().front() != 1) {
    return "this code has no multimem: build it with -DCMAKE_CUDA_ARCHITECTURES=" +
           std::to_string(major) +
           std::to_string(device_attribute(cudaDevAttrComputeCapabilityMinor));
  }
  return MulticastMemory::why_not(ranks);
}

}  // namespace gpubench
