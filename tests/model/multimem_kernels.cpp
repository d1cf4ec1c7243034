#include "tests/model/multimem_kernels.hpp"

#include "harness/cuda/launch.hpp"
#include "multimem.hpp"

namespace gpubench::kernels {
namespace {

__global__ void load_sum_kernel(Sum type, const uint4* at, uint4* to) {
  *to = type == Sum::fp32   ? multimem_load_add_fp32(at)
        : type == Sum::fp16 ? multimem_load_add_fp16(at)
                            : multimem_load_add_bf16(at);
}

__global__ void add_kernel(Sum type, uint4* at, uint4 value) {
  if (type == Sum::fp32) multimem_add_fp32(at, value);
  if (type == Sum::fp16) multimem_add_fp16(at, value);
  if (type == Sum::bf16) multimem_add_bf16(at, value);
}

__global__ void store_kernel(uint4* at, uint4 value) { multimem_store(at, value); }

__global__ void add_ones_kernel(void* at) {
  constexpr unsigned one = 0x3f800000;  // as a float
  multimem_add_fp32(at, {one, one, one, one});
}

__global__ void load_plainly_kernel(const uint4* at, uint4* to) { *to = *at; }
__global__ void store_plainly_kernel(uint4* at) { *at = {1, 2, 3, 4}; }
__global__ void store_twice_kernel(uint4* at) { multimem_store(at, {threadIdx.x, 0, 0, 0}); }

__global__ void load_beside_store_kernel(uint4* everywhere, const uint4* own, uint4* to) {
  if (threadIdx.x == 0) multimem_store(everywhere, {1, 2, 3, 4});
  if (threadIdx.x == 1) *to = *own;
}

}  // namespace

void load_sum(Sum type, const uint4* at, uint4* to) {
  launch(load_sum_kernel, 1, 1, 0, nullptr, type, at, to);
}
void add_everywhere(Sum type, uint4* at, uint4 value) {
  launch(add_kernel, 1, 1, 0, nullptr, type, at, value);
}
void store_everywhere(uint4* at, uint4 value) { launch(store_kernel, 1, 1, 0, nullptr, at, value); }
void add_ones(void* at, unsigned blocks, unsigned threads) {
  launch(add_ones_kernel, blocks, threads, 0, nullptr, at);
}
void load_plainly(const uint4* at, uint4* to) {
  launch(load_plainly_kernel, 1, 1, 0, nullptr, at, to);
}
void store_plainly(uint4* at) { launch(store_plainly_kernel, 1, 1, 0, nullptr, at); }
void store_twice(uint4* at) { launch(store_twice_kernel, 1, 2, 0, nullptr, at); }
void store_from_two_blocks(uint4* at) { launch(store_twice_kernel, 2, 1, 0, nullptr, at); }
void load_beside_store(uint4* everywhere, const uint4* own, uint4* to) {
  launch(load_beside_store_kernel, 1, 2, 0, nullptr, everywhere, own, to);
}

}  // namespace gpubench::kernels
