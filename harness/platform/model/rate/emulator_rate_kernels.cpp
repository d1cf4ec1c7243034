#include "harness/platform/model/rate/emulator_rate_kernels.hpp"

#include "harness/cuda/launch.hpp"

namespace gpubench::rate {
namespace {

__global__ void copy_kernel(float* to, const float* from, unsigned stride) {
  const unsigned i = (blockIdx.x * 256 + threadIdx.x) * stride;
  to[i] = from[i];
}

__global__ void transpose_kernel(float* to, const float* from, unsigned size) {
  __shared__ float tile[32][33];
  const unsigned x = threadIdx.x, left = blockIdx.x * 32, top = blockIdx.y * 32;
  for (unsigned y = threadIdx.y; y < 32; y += 8) tile[y][x] = from[(top + y) * size + left + x];
  __syncthreads();
  for (unsigned y = threadIdx.y; y < 32; y += 8) to[(left + y) * size + top + x] = tile[x][y];
}

__global__ void reduce_kernel(float* sums, const float* from) {
  __shared__ float partial[256];
  const unsigned thread = threadIdx.x;
  partial[thread] = from[blockIdx.x * 256 + thread];
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) partial[thread] += partial[thread + half];
  }
  if (thread == 0) sums[blockIdx.x] = partial[0];
}

__global__ void multiply_kernel(float* c, const float* a, const float* b, unsigned size) {
  __shared__ float tile_a[32][32], tile_b[32][32];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
  float sum = 0;
  for (unsigned first = 0; first < size; first += 32) {
    tile_a[y][x] = a[row * size + first + x];
    tile_b[y][x] = b[(first + y) * size + column];
    __syncthreads();
    for (unsigned k = 0; k < 32; ++k) sum = fmaf(tile_a[y][k], tile_b[k][x], sum);
    __syncthreads();
  }
  c[row * size + column] = sum;
}

__global__ void meet_kernel(float* out, unsigned times) {
  for (unsigned i = 0; i < times; ++i) __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
}

}  // namespace

void copy(float* to, const float* from, unsigned elements) { copy_strided(to, from, elements, 1); }
void copy_strided(float* to, const float* from, unsigned elements, unsigned stride) {
  launch(copy_kernel, elements / 256, 256, 0, nullptr, to, from, stride);
}
void transpose(float* to, const float* from, unsigned size) {
  launch(transpose_kernel, dim3(size / 32, size / 32), dim3(32, 8), 0, nullptr, to, from, size);
}
void reduce(float* sums, const float* from, unsigned elements) {
  launch(reduce_kernel, elements / 256, 256, 0, nullptr, sums, from);
}
void multiply(float* c, const float* a, const float* b, unsigned size) {
  launch(multiply_kernel, dim3(size / 32, size / 32), dim3(32, 32), 0, nullptr, c, a, b, size);
}
void meet(float* out, unsigned blocks, unsigned times) {
  launch(meet_kernel, blocks, 256, 0, nullptr, out, times);
}

}  // namespace gpubench::rate
