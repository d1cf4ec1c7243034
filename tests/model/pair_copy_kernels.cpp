#include "tests/model/pair_copy_kernels.hpp"

#include <cluster.hpp>
#include <dynamic_shared.hpp>
#include <tcgen05_pair.hpp>

#include "harness/cuda/launch.hpp"
#include "harness/cuda/tensor_map.hpp"

namespace gpubench::kernels {
namespace {

constexpr unsigned alignment = 1024, row_bytes = 128, step = 64, warp = 32;
constexpr unsigned rows = copied_rows / 2, columns = copied_columns / 2;
constexpr unsigned a_bytes = rows * row_bytes, b_bytes = columns * row_bytes;
// In each block warps 0 to 3 load the sums and warp 4 brings; in the even one warp 5 multiplies.
constexpr unsigned threads = 192, bringing = 128, multiplying = 160;
constexpr unsigned short both = 3;

struct Shared {
  unsigned char *a, *b;
  Mbarrier *brought, *done_with, *summed, *emptied;
  unsigned* place;
};

__device__ Shared parts_of_shared() {
  auto* const shared = static_cast<unsigned char*>(dynamic_shared());
  unsigned char* const a = shared + (alignment - place_in_shared(shared) % alignment) % alignment;
  auto* const barriers = reinterpret_cast<Mbarrier*>(a + a_bytes + b_bytes);
  return {a,
          a + a_bytes,
          barriers,
          barriers + 1,
          barriers + 2,
          barriers + 3,
          reinterpret_cast<unsigned*>(barriers + 4)};
}

__device__ void bring(const Shared& at, const CUtensorMap* of_a, const CUtensorMap* of_b,
                      PairCopySlip slip) {
  const unsigned rank = blockIdx.x;
  const bool is_apart = slip == PairCopySlip::arrives_at_home;
  for (unsigned turn = 0; turn < copied_depth / step; ++turn) {
    if (slip != PairCopySlip::no_hold || rank == 0)
      cluster_mbarrier_wait(at.done_with, turn % 2 ^ 1);
    if (rank == 0 || is_apart)
      mbarrier_expect(at.brought, (is_apart ? 1 : 2) * (a_bytes + b_bytes));
    const auto copy = is_apart ? bulk_copy_box : pair_copy_box;
    copy(at.a, of_a, turn * step, rank * rows, at.brought);
    copy(at.b, of_b, turn * step, rank * columns, at.brought);
  }
}

__device__ void multiply(const Shared& at, PairCopySlip slip) {
  constexpr auto bf16 = Tcgen05Type::bf16;
  const auto matrix = [](const unsigned char* rows_of) {
    return tcgen05_matrix(place_in_shared(rows_of), 16, 8 * row_bytes, Swizzle::of_128_bytes);
  };
  const std::uint64_t a = matrix(at.a), b = matrix(at.b);
  const std::uint32_t product = tcgen05_instruction(bf16, copied_rows, copied_columns);
  for (unsigned turn = 0; turn < copied_depth / step; ++turn) {
    if (slip != PairCopySlip::no_wait) cluster_mbarrier_wait(at.brought, turn % 2);
    tcgen05_fence_after_sync();
    for (unsigned i = 0; i < 4; ++i) {
      tcgen05_pair_mma<bf16>(*at.place, a + 2 * i, b + 2 * i, product, turn + i > 0);
    }
    if (turn == 0) tcgen05_pair_commit(at.done_with, both);
  }
  tcgen05_pair_commit(at.summed, both);
  if (slip != PairCopySlip::early_product) cluster_mbarrier_wait(at.emptied, 0);
  tcgen05_fence_after_sync();
  tcgen05_pair_mma<bf16>(*at.place, a, b, product, false);
  tcgen05_pair_commit(at.summed, both);
}

__device__ void load(const Shared& at, float* d, PairCopySlip slip) {
  cluster_mbarrier_wait(at.summed, 0);
  tcgen05_fence_after_sync();
  const bool is_early = slip == PairCopySlip::early_arrival && blockIdx.x == 1;
  if (is_early && threadIdx.x % warp == 0) pair_arrive(at.emptied);
  for (unsigned column = 0; column < copied_columns; column += 32) {
    float held[32];
    tcgen05_ld(held, *at.place + (threadIdx.x / warp * warp << 16) + column);
    tcgen05_wait_ld(held);
    for (unsigned i = 0; i < 32; ++i) {
      d[(blockIdx.x * rows + threadIdx.x) * copied_columns + column + i] = held[i];
    }
  }
  tcgen05_fence_before_sync();
  __syncwarp();
  if (!is_early && threadIdx.x % warp == 0) pair_arrive(at.emptied);
  cluster_mbarrier_wait(at.summed, 1);
}

__global__ void copies_kernel(const __grid_constant__ CUtensorMap of_a,
                              const __grid_constant__ CUtensorMap of_b, PairCopySlip slip,
                              float* d) {
  const Shared at = parts_of_shared();
  if (threadIdx.x == 0) {
    for (Mbarrier* barrier : {at.brought, at.done_with, at.summed}) mbarrier_init(barrier);
    mbarrier_init(at.emptied, 8);
    cluster_mbarrier_fence();
  }
  __syncwarp();
  if (slip == PairCopySlip::no_cluster) {
    __syncthreads();
  } else {
    cluster_sync();
    if (threadIdx.x < warp) tcgen05_pair_alloc<copied_columns>(at.place);
    cluster_sync();
  }
  if (threadIdx.x == bringing) bring(at, &of_a, &of_b, slip);
  if (threadIdx.x == multiplying && blockIdx.x == 0) multiply(at, slip);
  if (threadIdx.x < bringing) load(at, d, slip);
  cluster_sync();
  if (threadIdx.x < warp) tcgen05_pair_dealloc<copied_columns>(*at.place);
}

}  // namespace

void multiply_copies_in_pair(PairCopySlip slip, float* d, const __nv_bfloat16* a,
                             const __nv_bfloat16* b) {
  const auto map = [](const __nv_bfloat16* matrix, unsigned all, unsigned of_a_block) {
    return tensor_map(matrix, all, copied_depth, copied_depth, of_a_block);
  };
  constexpr unsigned shared_bytes = alignment + a_bytes + b_bytes + 5 * sizeof(Mbarrier);
  launch_cluster(copies_kernel, slip == PairCopySlip::no_cluster ? 1 : 2, 2, threads, shared_bytes,
                 nullptr, map(a, copied_rows, rows), map(b, copied_columns, columns), slip, d);
}

}  // namespace gpubench::kernels
