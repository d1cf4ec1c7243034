#include "tests/model/tensor_pair_kernels.hpp"

#include <cluster.hpp>
#include <dynamic_shared.hpp>
#include <tcgen05_pair.hpp>

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

constexpr unsigned threads = 128, warp = 32;  // a thread per row of the block's sums
constexpr unsigned rows = pair_rows / 2, columns = pair_columns / 2;
constexpr unsigned slice = 16, slices = pair_depth / slice;  // elements along k, 32 bytes
constexpr unsigned a_bytes = rows * pair_depth * 2, b_bytes = columns * pair_depth * 2;
constexpr unsigned shared_bytes = a_bytes + b_bytes + 3 * sizeof(Mbarrier);

struct Shared {
  unsigned char *a, *b;
  Mbarrier *done, *none;  // of which the odd block has but the first
  unsigned* place;
};

__device__ Shared parts_of_shared() {
  auto* const shared = static_cast<unsigned char*>(dynamic_shared());
  auto* const barriers = reinterpret_cast<Mbarrier*>(shared + a_bytes + b_bytes);
  return {shared, shared + a_bytes, barriers, barriers + 1,
          reinterpret_cast<unsigned*>(barriers + 2)};
}

// One row, slice by slice: of a slice, pieces of 16 bytes are 128 apart and eight rows 256.
__device__ void store_row(unsigned char* to, unsigned row, unsigned of, const __nv_bfloat16* from) {
  for (unsigned k = 0; k < pair_depth; ++k) {
    const unsigned in_slice = row / 8 * 256 + k % slice / 8 * 128 + row % 8 * 16 + k % 8 * 2;
    *reinterpret_cast<__nv_bfloat16*>(to + k / slice * of * 32 + in_slice) = from[k];
  }
}

__device__ void bring(const Shared& at, const __nv_bfloat16* a, const __nv_bfloat16* b) {
  const unsigned rank = blockIdx.x;
  store_row(at.a, threadIdx.x, rows, a + (rank * rows + threadIdx.x) * pair_depth);
  if (threadIdx.x >= columns) return;
  store_row(at.b, threadIdx.x, columns, b + (rank * columns + threadIdx.x) * pair_depth);
}

__device__ void allocate(const Shared& at, PairSlip slip) {
  const bool is_odd = blockIdx.x == 1;
  if (slip == PairSlip::one_allocates && is_odd) {
    if (threadIdx.x == 0) *at.place = 0;
  } else if (slip == PairSlip::other_size && is_odd) {
    tcgen05_pair_alloc<2 * pair_columns>(at.place);
  } else if (slip == PairSlip::allocation_of_one) {
    tcgen05_alloc<pair_columns>(at.place);
  } else {
    tcgen05_pair_alloc<pair_columns>(at.place);
  }
}

__device__ void commit(const Shared& at, PairSlip slip) {
  if (slip == PairSlip::commit_to_one) return tcgen05_pair_commit(at.done);
  tcgen05_pair_commit(slip == PairSlip::commit_elsewhere ? at.none : at.done,
                      slip == PairSlip::commit_beyond    ? 5
                      : slip == PairSlip::commit_to_none ? 0
                                                         : 3);
}

__device__ void multiply(const Shared& at, PairSlip slip) {
  constexpr auto bf16 = Tcgen05Type::bf16;
  const unsigned of_a = slip == PairSlip::half_the_rows ? pair_rows / 2 : pair_rows;
  const unsigned of_b = slip == PairSlip::odd_columns ? 48 : pair_columns;
  const std::uint32_t product = tcgen05_instruction(bf16, of_a, of_b);
  for (unsigned s = 0; s < slices; ++s) {
    const auto matrix = [&](const unsigned char* tile, unsigned of) {
      return tcgen05_matrix(place_in_shared(tile + s * of * 32), 128, 256, Swizzle::none);
    };
    const std::uint64_t a = matrix(at.a, rows), b = matrix(at.b, columns);
    if (slip == PairSlip::product_of_one) {
      tcgen05_mma<bf16>(*at.place, a, b, product, s > 0);
    } else {
      tcgen05_pair_mma<bf16>(*at.place, a, b, product, s > 0);
    }
  }
  commit(at, slip);
}

__device__ void load(const Shared& at, float* d) {
  for (unsigned column = 0; column < pair_columns; column += 32) {
    float held[32];
    tcgen05_ld(held, *at.place + (threadIdx.x / warp * warp << 16) + column);
    tcgen05_wait_ld(held);
    for (unsigned i = 0; i < 32; ++i) {
      d[(blockIdx.x * rows + threadIdx.x) * pair_columns + column + i] = held[i];
    }
  }
}

__global__ void pair_kernel(PairSlip slip, float* d, const __nv_bfloat16* a,
                            const __nv_bfloat16* b) {
  const Shared at = parts_of_shared();
  const unsigned rank = blockIdx.x;
  if (slip != PairSlip::early_allocation) cluster_sync();
  bring(at, a, b);
  tcgen05_pair_stored();
  if (threadIdx.x == 0) mbarrier_init(at.done);
  if (threadIdx.x == 0 && rank == 0) mbarrier_init(at.none);
  if (threadIdx.x == 0 && slip != PairSlip::no_fence) cluster_mbarrier_fence();
  __syncwarp();
  if (threadIdx.x < warp) allocate(at, slip);
  if (slip == PairSlip::no_meeting_before) {
    __syncthreads();
  } else {
    cluster_sync();
  }
  tcgen05_fence_after_sync();
  const unsigned asks = slip == PairSlip::odd_block_asks ? 1 : 0;
  if (threadIdx.x == 0 && rank == asks) multiply(at, slip);
  __syncwarp();
  const bool waits = slip != PairSlip::no_wait_for_commit || rank == 0;
  const auto wait = slip == PairSlip::wait_of_one ? mbarrier_wait : cluster_mbarrier_wait;
  if (waits) wait(at.done, 0);
  if (slip == PairSlip::stores_early && rank == 1) at.a[threadIdx.x] = 0;
  tcgen05_fence_after_sync();
  load(at, d);
  tcgen05_fence_before_sync();
  if (slip == PairSlip::no_meeting_after) {
    __syncthreads();
  } else {
    cluster_sync();
  }
  if (threadIdx.x >= warp || (slip == PairSlip::one_keeps && rank == 1)) return;
  if (slip == PairSlip::allocation_of_one) return tcgen05_dealloc<pair_columns>(*at.place);
  tcgen05_pair_dealloc<pair_columns>(*at.place);
}

}  // namespace

void multiply_in_pair(PairSlip slip, float* d, const __nv_bfloat16* a, const __nv_bfloat16* b) {
  const unsigned cluster = slip == PairSlip::no_cluster ? 1 : 2;
  launch_cluster(pair_kernel, cluster, 2, threads, shared_bytes, nullptr, slip, d, a, b);
}

}  // namespace gpubench::kernels
