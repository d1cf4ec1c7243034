#include "tests/model/tensor_memory_kernels.hpp"

#include <bulk_copy.hpp>
#include <dynamic_shared.hpp>
#include <tcgen05.hpp>

#include "harness/cuda/launch.hpp"
#include "harness/cuda/tensor_map.hpp"

namespace gpubench::kernels {
namespace {

constexpr unsigned alignment = 1024, row_bytes = 128, step = 64, warp = 32;
constexpr unsigned a_bytes = tensor_rows * row_bytes, b_bytes = tensor_columns * row_bytes;
// Warps 0 to 3 load the sums, warp 4 brings the matrices, and warp 5 multiplies.
constexpr unsigned threads = 192, bringing = 128, multiplying = 160;

struct Shared {
  unsigned char *a, *b;
  Mbarrier *brought, *done_with, *summed;
};

__device__ Shared parts_of_shared() {
  auto* shared = static_cast<unsigned char*>(dynamic_shared());
  unsigned char* const a = shared + (alignment - place_in_shared(shared) % alignment) % alignment;
  auto* const barriers = reinterpret_cast<Mbarrier*>(a + a_bytes + b_bytes);
  return {a, a + a_bytes, barriers, barriers + 1, barriers + 2};
}

__device__ void bring(const Shared& at, const CUtensorMap* of_a, const CUtensorMap* of_b,
                      TensorSlip slip) {
  for (unsigned turn = 0; turn < tensor_depth / step; ++turn) {
    if (slip != TensorSlip::no_hold) mbarrier_wait(at.done_with, turn % 2 ^ 1);
    mbarrier_expect(at.brought, a_bytes + b_bytes);
    bulk_copy_box(at.a, of_a, turn * step, 0, at.brought);
    bulk_copy_box(at.b, of_b, turn * step, 0, at.brought);
  }
}

__device__ std::uint64_t matrix(const unsigned char* rows, TensorSlip slip) {
  const Swizzle swizzle = slip == TensorSlip::no_swizzle      ? Swizzle::none
                          : slip == TensorSlip::other_swizzle ? Swizzle::of_64_bytes
                                                              : Swizzle::of_128_bytes;
  const unsigned stride = slip == TensorSlip::stride ? 4 * row_bytes : 8 * row_bytes;
  const std::uint64_t described = tcgen05_matrix(place_in_shared(rows), 16, stride, swizzle);
  return slip == TensorSlip::constant_bits ? described & ~(std::uint64_t{7} << 46) : described;
}

__device__ std::uint32_t instruction(TensorSlip slip) {
  const auto type = slip == TensorSlip::other_types ? Tcgen05Type::tf32 : Tcgen05Type::bf16;
  const unsigned rows = slip == TensorSlip::fewer_rows ? 64 : tensor_rows;
  const std::uint32_t described = tcgen05_instruction(type, rows, tensor_columns);
  return slip == TensorSlip::negated ? described | 1u << 13 : described;
}

__device__ void multiply(const Shared& at, unsigned d, TensorSlip slip) {
  const std::uint64_t from_a = matrix(at.a, slip), from_b = matrix(at.b, slip);
  if (slip == TensorSlip::product_elsewhere) d += 32;
  for (unsigned turn = 0; turn < tensor_depth / step; ++turn) {
    if (slip != TensorSlip::no_wait_for_copies) mbarrier_wait(at.brought, turn % 2);
    tcgen05_fence_after_sync();
    for (unsigned i = 0; i < 4; ++i) {
      const bool is_last = turn + 1 == tensor_depth / step && i == 3;
      if (slip == TensorSlip::early_commit && is_last) tcgen05_commit(at.summed);
      tcgen05_mma<Tcgen05Type::bf16>(d, from_a + 2 * i, from_b + 2 * i, instruction(slip),
                                     slip == TensorSlip::adds_first || turn + i > 0);
    }
    if (slip == TensorSlip::early_arrival) {
      mbarrier_arrive(at.done_with);
    } else {
      tcgen05_commit(at.done_with);
    }
  }
  const bool commits = slip != TensorSlip::other_thread_commits && slip != TensorSlip::early_commit;
  if (commits) tcgen05_commit(at.summed);
}

__device__ void load(const Shared& at, unsigned sums, TensorSlip slip, float* d) {
  if (slip != TensorSlip::no_wait_for_commit) mbarrier_wait(at.summed, 0);
  tcgen05_fence_after_sync();
  if (slip == TensorSlip::freed_early && threadIdx.x < warp) {
    tcgen05_dealloc<tensor_columns>(sums);
    return;
  }
  const unsigned own = threadIdx.x / warp * warp;
  const unsigned first_lane = slip == TensorSlip::other_lanes ? (own + warp) % 128 : own;
  for (unsigned column = 0; column < tensor_columns; column += 32) {
    float held[32];
    const unsigned elsewhere = slip == TensorSlip::load_elsewhere ? 256 : 0;
    tcgen05_ld(held, sums + (first_lane << 16) + column + elsewhere);
    if (slip != TensorSlip::no_wait_for_load) tcgen05_wait_ld(held);
    for (unsigned i = 0; i < 32; ++i) d[threadIdx.x * tensor_columns + column + i] = held[i];
  }
  tcgen05_fence_before_sync();
}

__global__ void multiply_kernel(const __grid_constant__ CUtensorMap of_a,
                                const __grid_constant__ CUtensorMap of_b, TensorSlip slip,
                                float* d) {
  __shared__ unsigned place;
  const Shared at = parts_of_shared();
  if (threadIdx.x == 0) {
    for (Mbarrier* barrier : {at.brought, at.done_with, at.summed}) mbarrier_init(barrier);
  }
  __syncwarp();
  if (threadIdx.x < warp) {
    tcgen05_alloc<tensor_columns>(&place);
    if (slip == TensorSlip::odd_size) tcgen05_alloc<48>(&place);
    if (slip == TensorSlip::second_allocation) tcgen05_alloc<tensor_columns>(&place);
  }
  __syncthreads();
  const unsigned sums = place;
  if (threadIdx.x == bringing) bring(at, &of_a, &of_b, slip);
  if (threadIdx.x == multiplying) multiply(at, sums, slip);
  if (threadIdx.x == multiplying + 1 && slip == TensorSlip::other_thread_commits) {
    mbarrier_wait(at.done_with, 0);
    tcgen05_commit(at.summed);
  }
  if (threadIdx.x < bringing) load(at, sums, slip, d);
  __syncthreads();
  if (threadIdx.x >= warp || slip == TensorSlip::kept) return;
  tcgen05_dealloc<tensor_columns>(slip == TensorSlip::other_columns_freed ? sums + 64 : sums);
}

}  // namespace

void multiply_in_tensor_memory(TensorSlip slip, float* d, const __nv_bfloat16* a,
                               const __nv_bfloat16* b) {
  const auto map = [](const __nv_bfloat16* matrix, unsigned rows) {
    return tensor_map(matrix, rows, tensor_depth, tensor_depth, rows);
  };
  launch(multiply_kernel, 1, threads, alignment + a_bytes + b_bytes + 3 * sizeof(Mbarrier), nullptr,
         map(a, tensor_rows), map(b, tensor_columns), slip, d);
}

}  // namespace gpubench::kernels
