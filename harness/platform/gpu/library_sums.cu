#include "harness/platform/library_sums.hpp"

#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include <cub/device/device_reduce.cuh>

namespace gpubench {

CubSum::CubSum(std::size_t most) {
  std::size_t bytes = 0;
  CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, bytes, static_cast<const float*>(nullptr),
                                    static_cast<float*>(nullptr), most));
  temporary_ = DeviceBuffer<char>(bytes);
}

void CubSum::queue(const float* in, std::size_t n, float* out, cudaStream_t stream) const {
  std::size_t bytes = temporary_.bytes();
  CUDA_CHECK(cub::DeviceReduce::Sum(temporary_.data(), bytes, in, out, n, stream));
}

float thrust_sum(const float* in, std::size_t n, cudaStream_t stream) {
  return thrust::reduce(thrust::cuda::par.on(stream), in, in + n, 0.0f);
}

}  // namespace gpubench
