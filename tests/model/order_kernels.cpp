#include "tests/model/order_kernels.hpp"

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

constexpr unsigned threads = 64;

__global__ void fill_kernel(float* to, unsigned n, unsigned step, float value) {
  for (unsigned i = threadIdx.x * step; i < n; i += threads * step) to[i] = value;
}

__global__ void copy_in_order(float* to, const float* from, unsigned n) {
  for (unsigned i = threadIdx.x; i < n; i += threads) to[i] = from[i];
}

__global__ void count_kernel(unsigned* counter) { atomicAdd(counter, 1u); }

}  // namespace

void fill(float* to, unsigned n, float value, cudaStream_t stream) {
  launch(fill_kernel, 1, threads, 0, stream, to, n, 1u, value);
}

void fill_every_other(float* to, unsigned n, float value, cudaStream_t stream) {
  launch(fill_kernel, 1, threads, 0, stream, to, n, 2u, value);
}

void copy(float* to, const float* from, unsigned n, cudaStream_t stream) {
  launch(copy_in_order, 1, threads, 0, stream, to, from, n);
}

void count(unsigned* counter, cudaStream_t stream) {
  launch(count_kernel, 1, threads, 0, stream, counter);
}

}  // namespace gpubench::kernels
