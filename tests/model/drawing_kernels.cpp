#include "tests/model/drawing_kernels.hpp"

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

__global__ void draw_kernel(float* to, const float* from, unsigned* next, unsigned elements) {
  __shared__ unsigned drawn;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) drawn = atomicAdd(next, blockDim.x);
    __syncthreads();
    if (drawn >= elements) return;
    to[drawn + threadIdx.x] = from[drawn + threadIdx.x];
  }
}

}  // namespace

void draw(float* to, const float* from, unsigned* next, unsigned elements, dim3 grid, dim3 block) {
  launch(draw_kernel, grid, block, 0, nullptr, to, from, next, elements);
}

}  // namespace gpubench::kernels
