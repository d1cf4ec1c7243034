#include "tests/model/reuse_kernels.hpp"

#include <cuda_runtime.h>

#include <cstddef>

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

// A branch between the looks takes a lane out of each warp for a while.
__global__ void look_twice_kernel(float* out, const float* in, unsigned length) {
  __shared__ float sums[looking_threads / 32];
  const std::size_t row = blockIdx.x * std::size_t{length};
  float sum = 0;
  for (unsigned i = threadIdx.x; i < length; i += looking_threads) sum += in[row + i];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  const float first = sums[0];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < length; i += looking_threads)
    out[row + i] = in[row + i] - first;
}

__global__ void read_twice_kernel(float* out, const float* in, unsigned length) {
  const std::size_t row = blockIdx.x * std::size_t{length};
  float sum = 0;
  for (unsigned twice = 0; twice < 2; ++twice) {
    for (unsigned i = threadIdx.x; i < length; i += looking_threads) sum += in[row + i];
  }
  out[blockIdx.x * std::size_t{looking_threads} + threadIdx.x] = sum;
}

}  // namespace

void look_twice(float* out, const float* in, unsigned length, unsigned blocks) {
  launch(look_twice_kernel, blocks, looking_threads, 0, nullptr, out, in, length);
}
void read_twice(float* out, const float* in, unsigned length, unsigned blocks) {
  launch(read_twice_kernel, blocks, looking_threads, 0, nullptr, out, in, length);
}

}  // namespace gpubench::kernels
