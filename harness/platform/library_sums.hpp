// What CUB and Thrust make of a sum. On a GPU library_sums.cu calls them; on the model device,
// where they are not, harness/platform/model/library_sums.cpp prices them as operations.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "harness/cuda/buffer.hpp"

namespace gpubench {

// cub::DeviceReduce::Sum of up to `most` words, with its temporary storage.
class CubSum {
 public:
  explicit CubSum(std::size_t most);
  // Queues *out = the sum of in[0 .. n). CudaError.
  void queue(const float* in, std::size_t n, float* out, cudaStream_t stream) const;

 private:
  DeviceBuffer<char> temporary_;
};

// thrust::reduce of in[0 .. n): allocates, waits for the stream, and brings the result to the host.
float thrust_sum(const float* in, std::size_t n, cudaStream_t stream);

}  // namespace gpubench
