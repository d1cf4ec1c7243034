#include "tests/model/tensor_copy_kernels.hpp"

#include <bulk_copy.hpp>
#include <dynamic_shared.hpp>
#include <warp_mma.hpp>

#include "harness/cuda/launch.hpp"
#include "harness/cuda/tensor_map.hpp"

namespace gpubench::kernels {
namespace {

constexpr unsigned alignment = 1024, row_bytes = 128;

__device__ unsigned char* aligned_shared() {
  auto* shared = static_cast<unsigned char*>(dynamic_shared());
  return shared + (alignment - place_in_shared(shared) % alignment) % alignment;
}

__global__ void bring_box_kernel(const __grid_constant__ CUtensorMap map, unsigned char* out,
                                 unsigned row, unsigned column) {
  unsigned char* const box = aligned_shared();
  auto* const brought = reinterpret_cast<Mbarrier*>(box + box_bytes);
  if (threadIdx.x == 0) mbarrier_init(brought);
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect(brought, box_bytes);
    bulk_copy_box(box, &map, column, row, brought);
  }
  mbarrier_wait(brought, 0);
  for (unsigned i = threadIdx.x; i < box_bytes; i += blockDim.x) out[i] = box[i];
}

constexpr unsigned a_bytes = product_rows * row_bytes, b_bytes = product_columns * row_bytes;
constexpr unsigned multiplying = 128, step = 64;

__global__ void multiply_boxes_kernel(const __grid_constant__ CUtensorMap of_a,
                                      const __grid_constant__ CUtensorMap of_b, Slip slip,
                                      float* d) {
  unsigned char* const a = aligned_shared();
  unsigned char* const b = a + a_bytes;
  auto* const brought = reinterpret_cast<Mbarrier*>(b + b_bytes);
  Mbarrier* const done_with = brought + 1;
  if (threadIdx.x == 0) {
    mbarrier_init(brought);
    mbarrier_init(done_with, multiplying / 32);
  }
  __syncthreads();
  if (threadIdx.x >= multiplying) {
    for (unsigned turn = 0; threadIdx.x == multiplying && turn < product_depth / step; ++turn) {
      if (slip != Slip::no_hold) mbarrier_wait(done_with, turn % 2 ^ 1);
      mbarrier_expect(brought, a_bytes + b_bytes);
      if (slip == Slip::second_arrival) mbarrier_arrive(brought);
      bulk_copy_box(a, &of_a, turn * step, 0, brought);
      bulk_copy_box(b, &of_b, turn * step, 0, brought);
    }
    return;
  }
  const Swizzle swizzle = slip == Slip::no_swizzle      ? Swizzle::none
                          : slip == Slip::other_swizzle ? Swizzle::of_64_bytes
                                                        : Swizzle::of_128_bytes;
  const unsigned stride = slip == Slip::stride ? 4 * row_bytes : 8 * row_bytes;
  const std::uint64_t from_a = matrix_descriptor(place_in_shared(a), 16, stride, swizzle);
  const std::uint64_t from_b = matrix_descriptor(place_in_shared(b), 16, stride, swizzle);
  const bool speaks = threadIdx.x % 32 == 0;
  float sums[128];
  for (unsigned turn = 0; turn < product_depth / step; ++turn) {
    if (slip != Slip::no_wait) mbarrier_wait(brought, turn % 2);
    wgmma_begin(sums);
    for (unsigned i = 0; i < 4; ++i) {
      wgmma_m64n256k16_bf16(sums, from_a + 2 * i, from_b + 2 * i, turn + i > 0);
    }
    wgmma_commit();
    if (slip == Slip::early_arrival && speaks) mbarrier_arrive(done_with);
    wgmma_wait_for<0>(sums);
    if (slip != Slip::early_arrival && speaks) mbarrier_arrive(done_with);
  }
  const unsigned lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16;
  for (unsigned i = 0; i < 128; ++i) {
    const unsigned row = first + lane / 4 + i / 2 % 2 * 8;
    d[row * product_columns + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
  }
}

}  // namespace

void bring_box(unsigned char* out, const __nv_bfloat16* matrix, unsigned rows, unsigned columns,
               unsigned ld, unsigned row, unsigned column) {
  launch(bring_box_kernel, 1, 32, alignment + box_bytes + sizeof(Mbarrier), nullptr,
         tensor_map(matrix, rows, columns, ld, box_rows), out, row, column);
}

void multiply_boxes(Slip slip, float* d, const __nv_bfloat16* a, const __nv_bfloat16* b) {
  const auto map = [](const __nv_bfloat16* matrix, unsigned rows) {
    return tensor_map(matrix, rows, product_depth, product_depth, rows);
  };
  launch(multiply_boxes_kernel, 1, multiplying + 32,
         alignment + a_bytes + b_bytes + 2 * sizeof(Mbarrier), nullptr, map(a, product_rows),
         map(b, product_columns), slip, d);
}

}  // namespace gpubench::kernels
