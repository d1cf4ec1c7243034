#include "tests/model/types_kernels.hpp"

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

template <class T>
__global__ void copy_kernel(T* out, const T* in) {
  out[threadIdx.x] = in[threadIdx.x];
}

__global__ void swap_kernel(__half2* out, const __half2* in) {
  const __half2 pair = in[threadIdx.x];
  out[threadIdx.x] = __half2(pair.y, pair.x);
}

__global__ void stage_kernel(__half2* out, const __half2* in) {
  __shared__ __half2 stage[32];
  stage[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = stage[31 - threadIdx.x];
}

template <class Pair>
__global__ void fuse_pairs_kernel(Pair* out, const Pair* in, unsigned trips) {
  const Pair half(0.5f, 0.5f), one(1, 1);
  Pair x = in[threadIdx.x];
  for (unsigned k = 0; k < trips; ++k) x = __hfma2(x, half, one);
  out[threadIdx.x] = x;
}

__global__ void fuse_halves_kernel(__half* out, const __half* in, unsigned trips) {
  __half x = in[threadIdx.x];
  for (unsigned k = 0; k < trips; ++k) x = x * __float2half(0.5f) + __float2half(1.0f);
  out[threadIdx.x] = x;
}

__global__ void exchange_kernel(__half2* out, __half* low, const __half2* in) {
  const __half2 pair = in[threadIdx.x];
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, pair, 1);
  low[threadIdx.x] = __shfl_down_sync(0xffffffffu, pair.x, 1u);
}

}  // namespace

void copy_halves(__half* out, const __half* in) {
  launch(copy_kernel<__half>, 1, 32, 0, nullptr, out, in);
}
void copy_pairs(__half2* out, const __half2* in) {
  launch(copy_kernel<__half2>, 1, 32, 0, nullptr, out, in);
}
void swap_pairs(__half2* out, const __half2* in) {
  launch(swap_kernel, 1, 32, 0, nullptr, out, in);
}
void stage_pairs(__half2* out, const __half2* in) {
  launch(stage_kernel, 1, 32, 0, nullptr, out, in);
}
void fuse_pairs(__half2* out, const __half2* in, unsigned trips) {
  launch(fuse_pairs_kernel<__half2>, 1, 32, 0, nullptr, out, in, trips);
}
void fuse_halves(__half* out, const __half* in, unsigned trips) {
  launch(fuse_halves_kernel, 1, 32, 0, nullptr, out, in, trips);
}
void fuse_bfloats(__nv_bfloat162* out, const __nv_bfloat162* in, unsigned trips) {
  launch(fuse_pairs_kernel<__nv_bfloat162>, 1, 32, 0, nullptr, out, in, trips);
}
void exchange_pairs(__half2* out, __half* low, const __half2* in) {
  launch(exchange_kernel, 1, 32, 0, nullptr, out, low, in);
}

}  // namespace gpubench::kernels
