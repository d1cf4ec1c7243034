// Products with block scales of two SMs together (tcgen05, cta_group::2): one thread of a pair of
// blocks copies the scales of both and asks for all products; each block has half of a's rows, of
// b's columns and of the sums. sm_100a and sm_103a alone.
#pragma once

#include <cluster.hpp>
#include <tcgen05_pair_scales.hpp>

#include "kernels/compute_peak/scaled_tcgen05.cuh"
#include "kernels/compute_peak/tcgen05_pair.cuh"

namespace compute_peak {

// More than of one block, as the cluster's barriers take longer than a block's.
inline constexpr unsigned scaled_pair_rounds = 3 * scaled_tcgen05_rounds;
// A product of halves is at most 4 quarters, a scale of halves at most 4: every sum, in sixteenths,
// fits into fp32's 24 bits.
static_assert(Nvfp4::depth * 4 * 4 * 4 * scaled_pair_rounds < 1u << 24);
template <class Type>
constexpr double scaled_pair_flops_per_block =
    2.0 * tcgen05_rows* scaled_columns* Type::depth* scaled_pair_rounds;

// Behind the matrices and scales, what the hardware writes.
inline constexpr unsigned scaled_pair_shared_bytes = ScaledShared<2>::bytes + 2 * sizeof(Mbarrier);

struct ByPair {
  __device__ static void copy(unsigned to, std::uint64_t from) {
    tcgen05_pair_copy_scales(to, from);
  }
  template <gpubench::Tcgen05Type type, class... Operands>
  __device__ static void multiply(Operands... operands) {
    tcgen05_pair_mma_scaled<type>(operands...);
  }
};

template <class Type>
__global__ void __launch_bounds__(matrix_threads) scaled_tcgen05_pair(double* out) {
  const ScaledShared<2> shared;
  auto* const done = reinterpret_cast<Mbarrier*>(shared.end);
  auto* const place = reinterpret_cast<unsigned*>(done + 1);
  const unsigned rank = cluster_rank();
  store_scaled<Type>(shared, rank);
  tcgen05_pair_stored();
  cluster_sync();
  if (threadIdx.x < warp) tcgen05_pair_alloc<tcgen05_columns>(place);
  if (threadIdx.x == 0) {
    mbarrier_init(done);
    cluster_mbarrier_fence();
  }
  tcgen05_fence_before_sync();
  cluster_sync();
  tcgen05_fence_after_sync();
  const unsigned d = *place;
  if (rank == 0 && threadIdx.x == 0) {
    multiply_scaled<Type, ByPair, scaled_pair_rounds>(shared, d);
    tcgen05_pair_commit(done, 3);
  }
  __syncwarp();
  cluster_mbarrier_wait(done, 0);  // meanwhile another pair's products fill the units
  tcgen05_fence_after_sync();
  out[blockIdx.x * std::size_t{matrix_threads} + threadIdx.x] = sum_of_scaled_row(d);
  tcgen05_fence_before_sync();
  cluster_sync();
  tcgen05_fence_after_sync();
  if (threadIdx.x < warp) tcgen05_pair_dealloc<tcgen05_columns>(d);
}

template <class Type>
using ExpectedScaledPairRows = ExpectedScaledRows<Type, pair_rows, scaled_pair_rounds>;

}  // namespace compute_peak
