// Products of two SMs together (tcgen05, cta_group::2): one thread of a pair of blocks asks for all
// of them, each block has half of a's rows, of b's columns and of the sums. sm_100a and sm_103a
// alone.
#pragma once

#include <cluster.hpp>
#include <tcgen05_pair.hpp>

#include "kernels/compute_peak/tcgen05.cuh"

namespace compute_peak {

// The largest product of a pair: for each block as many sums, from as many rows of a, as the
// largest product of one block has, but half of b.
inline constexpr unsigned pair_rows = 2 * tcgen05_rows, pair_columns = tcgen05_columns,
                          columns_per_block = pair_columns / 2;
inline constexpr unsigned pair_a_bytes = tcgen05_rows * 32, pair_b_bytes = columns_per_block * 32,
                          pair_shared_bytes = pair_a_bytes + pair_b_bytes + 2 * sizeof(Mbarrier);

static_assert(matrix_threads == tcgen05_rows && matrix_threads == columns_per_block);

// More than of one block, as the cluster's barriers take longer than a block's. With four times as
// many, a row's weighted sum would not fit into 32 bits.
inline constexpr unsigned pair_rounds = 3 * tcgen05_rounds;
template <class Type>
constexpr double pair_flops_per_block = 2.0 * tcgen05_rows* pair_columns* depth<Type>* pair_rounds;

template <class Type>
__global__ void __launch_bounds__(matrix_threads) tcgen05_pair(double* out) {
  using Element = typename Type::Element;
  // In each block at the same place: in the order of tile_offset(), then what the hardware writes.
  auto* const a = static_cast<unsigned char*>(dynamic_shared());
  unsigned char* const b = a + pair_a_bytes;
  auto* const done = reinterpret_cast<Mbarrier*>(b + pair_b_bytes);
  auto* const place = reinterpret_cast<unsigned*>(done + 1);
  const unsigned rank = cluster_rank();
  const unsigned row = rank * tcgen05_rows + threadIdx.x;  // a thread brings one of a,
  const unsigned column = column_vector(0, rank * columns_per_block + threadIdx.x);  // and one of b
#pragma unroll 1  // nvcc would merge some of the stores
  for (unsigned k = 0; k < depth<Type>; ++k) {
    const unsigned at = tile_offset(threadIdx.x, k * sizeof(Element));
    *reinterpret_cast<Element*>(a + at) = Type::encode(halves(row, k));
    *reinterpret_cast<Element*>(b + at) = Type::encode(halves(column, k));
  }
  tcgen05_pair_stored();
  cluster_sync();
  if (threadIdx.x < warp) tcgen05_pair_alloc<pair_columns>(place);
  if (threadIdx.x == 0) {
    mbarrier_init(done);
    cluster_mbarrier_fence();
  }
  tcgen05_fence_before_sync();
  cluster_sync();
  tcgen05_fence_after_sync();
  const unsigned d = *place;
  if (rank == 0 && threadIdx.x == 0) {
    constexpr std::uint32_t product =
        gpubench::tcgen05_instruction(tcgen05_type<Type>, pair_rows, pair_columns);
    const auto matrix = [](const unsigned char* tile) {
      return gpubench::tcgen05_matrix(place_in_shared(tile), 128, 256, gpubench::Swizzle::none);
    };
    const std::uint64_t of_a = matrix(a), of_b = matrix(b);
#pragma unroll 1
    for (unsigned round = 0; round < pair_rounds; round += 16) {
#pragma unroll
      for (unsigned unrolled = 0; unrolled < 16; ++unrolled) {
        tcgen05_pair_mma<tcgen05_type<Type>>(d, of_a, of_b, product, round + unrolled > 0);
      }
    }
    tcgen05_pair_commit(done, 3);
  }
  __syncwarp();
  cluster_mbarrier_wait(done, 0);  // meanwhile another pair's products fill the units
  tcgen05_fence_after_sync();
  out[blockIdx.x * std::size_t{matrix_threads} + threadIdx.x] = sum_of_row<Type>(d);
  tcgen05_fence_before_sync();
  cluster_sync();
  tcgen05_fence_after_sync();
  if (threadIdx.x < warp) tcgen05_pair_dealloc<pair_columns>(d);
}

template <class Type>
using ExpectedPairRows = ExpectedRows<Type, pair_rows, pair_rounds>;

}  // namespace compute_peak
