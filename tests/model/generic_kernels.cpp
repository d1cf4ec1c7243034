#include "tests/model/generic_kernels.hpp"

#include <cuda_runtime.h>

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

__global__ void load_from_anywhere_kernel(float* out, const float* in, const float* other,
                                          unsigned shared_lanes) {
  __shared__ float own[32];
  const unsigned lane = threadIdx.x;
  own[lane] = static_cast<float>(lane);
  __syncwarp();
  const float* const places[] = {in, other, own};
  out[lane] = places[lane < shared_lanes ? 2 : lane % 2][lane];
}

}  // namespace

void load_from_anywhere(float* out, const float* in, const float* other, unsigned shared_lanes) {
  launch(load_from_anywhere_kernel, 1, 32, 0, nullptr, out, in, other, shared_lanes);
}

}  // namespace gpubench::kernels
