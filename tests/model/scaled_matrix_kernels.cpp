#include "tests/model/scaled_matrix_kernels.hpp"

#include <block_scaled_mma.hpp>

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

struct Held {
  unsigned a[4], b[2], scales_a, scales_b;
  float d[4];
};
__device__ Held held_by(unsigned lane, const float* d, const ScaledWords& words) {
  Held held;
  for (unsigned i = 0; i < 4; ++i) held.a[i] = words.a[i * 32 + lane];
  for (unsigned i = 0; i < 2; ++i) held.b[i] = words.b[i * 32 + lane];
  held.scales_a = words.scales_a[lane];
  held.scales_b = words.scales_b[lane];
  for (unsigned i = 0; i < 4; ++i) held.d[i] = d[i * 32 + lane];
  return held;
}
__device__ void store(unsigned lane, float* d, const Held& held) {
  for (unsigned i = 0; i < 4; ++i) d[i * 32 + lane] = held.d[i];
}

__global__ void mxfp8_kernel(Selected which, float* d, ScaledWords words) {
  const unsigned lane = threadIdx.x;
  Held held = held_by(lane, d, words);
  if (which == Selected::first || (which == Selected::disagreeing && lane < 16)) {
    mma_m16n8k32_mxfp8<0, 0, 0, 0>(held.d, held.a, held.b, held.scales_a, held.scales_b);
  } else {
    mma_m16n8k32_mxfp8<3, 1, 1, 2>(held.d, held.a, held.b, held.scales_a, held.scales_b);
  }
  store(lane, d, held);
}

__global__ void nvfp4_kernel(Selected which, float* d, ScaledWords words) {
  const unsigned lane = threadIdx.x;
  Held held = held_by(lane, d, words);
  if (which == Selected::first || (which == Selected::disagreeing && lane < 16)) {
    mma_m16n8k64_nvfp4<0, 0, 0, 0>(held.d, held.a, held.b, held.scales_a, held.scales_b);
  } else {
    mma_m16n8k64_nvfp4<0, 1, 0, 3>(held.d, held.a, held.b, held.scales_a, held.scales_b);
  }
  store(lane, d, held);
}

__global__ void nvfp4_from_byte_1_kernel(float* d, ScaledWords words) {
  const unsigned lane = threadIdx.x;
  Held held = held_by(lane, d, words);
  mma_m16n8k64_nvfp4<1, 0, 0, 0>(held.d, held.a, held.b, held.scales_a, held.scales_b);
  store(lane, d, held);
}

}  // namespace

void multiply_mxfp8(Selected which, float* d, ScaledWords words) {
  launch(mxfp8_kernel, 1, 32, 0, nullptr, which, d, words);
}
void multiply_nvfp4(Selected which, float* d, ScaledWords words) {
  launch(nvfp4_kernel, 1, 32, 0, nullptr, which, d, words);
}
void multiply_nvfp4_from_byte_1(float* d, ScaledWords words) {
  launch(nvfp4_from_byte_1_kernel, 1, 32, 0, nullptr, d, words);
}

}  // namespace gpubench::kernels
