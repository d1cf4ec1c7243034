// Products with sums in tensor memory (tcgen05): one thread of a block asks for all of them, and
// four warps read what has come together at the end. sm_100a and sm_103a alone.
#pragma once

#include <dynamic_shared.hpp>
#include <tcgen05.hpp>

#include "kernels/compute_peak.cuh"

namespace compute_peak {

template <class Type>
inline constexpr gpubench::Tcgen05Type tcgen05_type =
    std::is_same_v<Type, Fp16>   ? gpubench::Tcgen05Type::fp16
    : std::is_same_v<Type, Bf16> ? gpubench::Tcgen05Type::bf16
    : std::is_same_v<Type, Tf32> ? gpubench::Tcgen05Type::tf32
    : std::is_same_v<Type, Fp8>  ? gpubench::Tcgen05Type::fp8
                                 : gpubench::Tcgen05Type::int8;

// The largest product of one SM (tcgen05_pair.cuh has those of two): a column of sums for each
// column of tensor memory that it takes, so two blocks share an SM.
inline constexpr unsigned tcgen05_rows = 128, tcgen05_columns = 256;
inline constexpr unsigned tcgen05_rounds = 128;
template <class Type>
constexpr double tcgen05_flops_per_block =
    2.0 * tcgen05_rows* tcgen05_columns* depth<Type>* tcgen05_rounds;
// a, and b behind it, in the order of tile_offset().
inline constexpr unsigned tcgen05_a_bytes = tcgen05_rows * 32,
                          tcgen05_b_bytes = tcgen05_columns * 32,
                          tcgen05_shared_bytes = tcgen05_a_bytes + tcgen05_b_bytes;

// Sums are multiples of 1 / parts.
template <class Type>
inline constexpr int parts = std::is_same_v<Type, Int8> ? 1 : 4;

// A thread adds up the sums of its row of the block, which begin at column `d`, each with its
// weight. In whole numbers: of doubles some of these parts make few a clock.
template <class Type>
__device__ __forceinline__ double sum_of_row(unsigned d) {
  int sum = 0;
#pragma unroll 1
  for (unsigned column = 0; column < tcgen05_columns; column += warp) {
    typename Type::Sum held[warp];
    tcgen05_ld(held, d + (threadIdx.x / warp * warp << 16) + column);
    tcgen05_wait_ld(held);
#pragma unroll
    for (unsigned i = 0; i < warp; ++i) {
      sum += static_cast<int>(weight_of(column + i)) * static_cast<int>(held[i] * parts<Type>);
    }
  }
  return double{1} / parts<Type> * sum;
}

template <class Type>
__global__ void __launch_bounds__(matrix_threads) tcgen05(double* out) {
  using Element = typename Type::Element;
  __shared__ unsigned place;
  __shared__ Mbarrier done;
  auto* const a = static_cast<unsigned char*>(dynamic_shared());
  unsigned char* const b = a + tcgen05_a_bytes;
  for (unsigned vector = threadIdx.x; vector < tcgen05_columns; vector += matrix_threads) {
    for (unsigned k = 0; k < depth<Type>; ++k) {
      const unsigned at = tile_offset(vector, k * sizeof(Element));
      if (vector < tcgen05_rows) {
        *reinterpret_cast<Element*>(a + at) = Type::encode(halves(vector, k));
      }
      *reinterpret_cast<Element*>(b + at) = Type::encode(halves(column_vector(0, vector), k));
    }
  }
  tcgen05_stored();
  if (threadIdx.x < warp) tcgen05_alloc<tcgen05_columns>(&place);
  if (threadIdx.x == 0) mbarrier_init(&done);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  const unsigned d = place;
  if (threadIdx.x == 0) {
    constexpr std::uint32_t product =
        gpubench::tcgen05_instruction(tcgen05_type<Type>, tcgen05_rows, tcgen05_columns);
    // A row's two pieces of 16 bytes are 128 apart, eight rows 256 (tile_offset()).
    const auto matrix = [](const unsigned char* tile) {
      return gpubench::tcgen05_matrix(place_in_shared(tile), 128, 256, gpubench::Swizzle::none);
    };
    const std::uint64_t of_a = matrix(a), of_b = matrix(b);
#pragma unroll 1
    for (unsigned round = 0; round < tcgen05_rounds; round += 16) {
#pragma unroll
      for (unsigned unrolled = 0; unrolled < 16; ++unrolled) {
        tcgen05_mma<tcgen05_type<Type>>(d, of_a, of_b, product, round + unrolled > 0);
      }
    }
    tcgen05_commit(&done);
  }
  __syncwarp();
  mbarrier_wait(&done, 0);  // meanwhile another block's products fill the unit
  tcgen05_fence_after_sync();
  out[blockIdx.x * std::size_t{matrix_threads} + threadIdx.x] = sum_of_row<Type>(d);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  if (threadIdx.x < warp) tcgen05_dealloc<tcgen05_columns>(d);
}

// What thread i leaves: of one row of sums, of which a product has `rows`. Every sum on the way is
// exact.
template <class Type, unsigned rows = tcgen05_rows, unsigned rounds = tcgen05_rounds>
struct ExpectedRows {
  __host__ __device__ double operator()(std::size_t i) const {
    const auto row = static_cast<unsigned>(i % rows);
    double total = 0;
    for (unsigned column = 0; column < tcgen05_columns; ++column) {
      const unsigned vector = column_vector(0, column);
      int product = 0;
      for (unsigned k = 0; k < depth<Type>; ++k) product += halves(row, k) * halves(vector, k);
      total += weight_of(column) * product;
    }
    return rounds * total / parts<Type>;
  }
};

}  // namespace compute_peak
