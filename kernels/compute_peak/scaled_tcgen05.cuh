// Products with sums in tensor memory of narrow types whose blocks along k have scales, which lie
// in tensor memory as well: one thread of a block copies the scales, asks for all products, and
// chooses other scales each time. sm_100a and sm_103a alone.
#pragma once

#include <tcgen05_scales.hpp>

#include "kernels/compute_peak/scaled_mma.cuh"
#include "kernels/compute_peak/tcgen05.cuh"

namespace compute_peak {

template <class Type>
inline constexpr gpubench::Tcgen05Type scaled_tcgen05_type =
    std::is_same_v<Type, Mxfp8> ? gpubench::Tcgen05Type::mxfp8 : gpubench::Tcgen05Type::nvfp4;

// With the scales behind them, more sums would take more than half of the columns, and leave an SM
// to one block.
inline constexpr unsigned scaled_columns = 192, scaled_tcgen05_rounds = 160;
template <class Type>
constexpr double scaled_tcgen05_flops_per_block =
    2.0 * tcgen05_rows* scaled_columns* Type::depth* scaled_tcgen05_rounds;

// A copy brings four scales of each of 128 rows: row 32 j + i from byte 16 i + 4 j on. Each row has
// two times four; b's columns take two copies each time, of which the second brings 64 too many.
inline constexpr unsigned copy_bytes = 512, copied_vectors = 128, copied_columns = 4;
inline constexpr unsigned scales_of_a = scaled_columns,  // columns of tensor memory
    scales_of_b = scales_of_a + 2 * copied_columns;

// What a product takes of each of its `blocks`, which are one or a pair: 128 rows of a, its share
// of b's columns, the scales of these rows, and those of all columns of b. It lies in shared memory
// in this order.
template <unsigned blocks>
struct ScaledShared {
  static constexpr unsigned b_columns = scaled_columns / blocks, b_bytes = b_columns * 32;
  static constexpr unsigned bytes = tcgen05_a_bytes + b_bytes + 6 * copy_bytes;
  unsigned char *a, *b, *scales_a, *scales_b, *end;

  __device__ ScaledShared()
      : a(static_cast<unsigned char*>(dynamic_shared())),
        b(a + tcgen05_a_bytes),
        scales_a(b + b_bytes),
        scales_b(scales_a + 2 * copy_bytes),
        end(a + bytes) {}
};
inline constexpr unsigned scaled_shared_bytes = ScaledShared<1>::bytes;

template <class Type>
__device__ inline void store_elements(unsigned char* tile, unsigned at, unsigned vector) {
  constexpr unsigned in_word = 32 / Type::bits;
#pragma unroll
  for (unsigned piece = 0; piece < 2; ++piece) {
    const unsigned k = piece * 4 * in_word;
    *reinterpret_cast<uint4*>(tile + tile_offset(at, 16 * piece)) =
        make_uint4(packed_elements<Type>(vector, k), packed_elements<Type>(vector, k + in_word),
                   packed_elements<Type>(vector, k + 2 * in_word),
                   packed_elements<Type>(vector, k + 3 * in_word));
  }
}
// `copies`: how many it takes to bring four scales of all vectors.
template <class Type>
__device__ inline void store_scales(unsigned char* scales, unsigned copies, unsigned at,
                                    unsigned vector) {
  const unsigned place =
      at / copied_vectors * copy_bytes + at % 32 * 16 + at % copied_vectors / 32 * 4;
  unsigned char* const more = scales + copies * copy_bytes;
  *reinterpret_cast<unsigned*>(scales + place) = packed_scales<Type>(vector, 0);
  *reinterpret_cast<unsigned*>(more + place) = packed_scales<Type>(vector, 4);
}
// `rank`: of this block among those of the product.
template <class Type, unsigned blocks>
__device__ inline void store_scaled(const ScaledShared<blocks>& to, unsigned rank) {
  constexpr unsigned columns = ScaledShared<blocks>::b_columns;
  for (unsigned at = threadIdx.x; at < 2 * copied_vectors; at += matrix_threads) {
    if (at < tcgen05_rows) {
      const unsigned row = rank * tcgen05_rows + at;
      store_elements<Type>(to.a, at, row);
      store_scales<Type>(to.scales_a, 1, at, row);
    }
    if (at < columns) store_elements<Type>(to.b, at, column_vector(0, rank * columns + at));
    store_scales<Type>(to.scales_b, 2, at, column_vector(0, at));
  }
}

// What one thread asks for, here of its block alone.
struct ByOneBlock {
  __device__ static void copy(unsigned to, std::uint64_t from) { tcgen05_copy_scales(to, from); }
  template <gpubench::Tcgen05Type type, class... Operands>
  __device__ static void multiply(Operands... operands) {
    tcgen05_mma_scaled<type>(operands...);
  }
};

// One thread copies `count` times.
template <class By>
__device__ inline void copy_scales(unsigned to, const unsigned char* from, unsigned count) {
#pragma unroll
  for (unsigned copy = 0; copy < count; ++copy) {
    By::copy(to + copy * copied_columns,
             gpubench::tcgen05_matrix(place_in_shared(from + copy * copy_bytes), 16, 128,
                                      gpubench::Swizzle::none));
  }
}
// And asks for so many products.
template <class Type, class By, unsigned rounds, unsigned blocks>
__device__ inline void multiply_scaled(const ScaledShared<blocks>& from, unsigned d) {
  copy_scales<By>(d + scales_of_a, from.scales_a, 2);
  copy_scales<By>(d + scales_of_b, from.scales_b, 4);
  // A row's two pieces of 16 bytes are 128 apart, eight rows 256 (tile_offset()).
  const auto matrix = [](const unsigned char* tile) {
    return gpubench::tcgen05_matrix(place_in_shared(tile), 128, 256, gpubench::Swizzle::none);
  };
  const std::uint64_t a = matrix(from.a), b = matrix(from.b);
  constexpr auto type = scaled_tcgen05_type<Type>;
#pragma unroll 1
  for (unsigned round = 0; round < rounds; round += 16) {
#pragma unroll
    for (unsigned unrolled = 0; unrolled < 16; ++unrolled) {
      const unsigned of_a = first_of_a<Type>(unrolled), of_b = first_of_b<Type>(unrolled);
      const std::uint32_t product = gpubench::tcgen05_scaled_instruction(
          type, blocks * tcgen05_rows, scaled_columns, of_a % 4, of_b % 4);
      By::template multiply<type>(d, a, b, product, d + scales_of_a + of_a / 4 * copied_columns,
                                  d + scales_of_b + of_b / 4 * 2 * copied_columns,
                                  round + unrolled > 0);
    }
  }
}

// A thread adds up the sums of its row of the block, which begin at column `d`, each with its
// weight.
__device__ inline double sum_of_scaled_row(unsigned d) {
  long long sum = 0;
#pragma unroll 1
  for (unsigned column = 0; column < scaled_columns; column += warp) {
    float held[warp];
    tcgen05_ld(held, d + (threadIdx.x / warp * warp << 16) + column);
    tcgen05_wait_ld(held);
#pragma unroll
    for (unsigned i = 0; i < warp; ++i) {
      sum += static_cast<int>(weight_of(column + i)) * static_cast<int>(held[i] * 16);
    }
  }
  return static_cast<double>(sum) / 16;
}

template <class Type>
__global__ void __launch_bounds__(matrix_threads) scaled_tcgen05(double* out) {
  __shared__ unsigned place;
  __shared__ Mbarrier done;
  const ScaledShared<1> shared;
  store_scaled<Type>(shared, 0);
  tcgen05_stored();
  if (threadIdx.x < warp) tcgen05_alloc<tcgen05_columns>(&place);
  if (threadIdx.x == 0) mbarrier_init(&done);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  const unsigned d = place;
  if (threadIdx.x == 0) {
    multiply_scaled<Type, ByOneBlock, scaled_tcgen05_rounds>(shared, d);
    tcgen05_commit(&done);
  }
  __syncwarp();
  mbarrier_wait(&done, 0);  // meanwhile another block's products fill the unit
  tcgen05_fence_after_sync();
  out[blockIdx.x * std::size_t{matrix_threads} + threadIdx.x] = sum_of_scaled_row(d);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  if (threadIdx.x < warp) tcgen05_dealloc<tcgen05_columns>(d);
}

// What thread i leaves: of one row of sums, of which a product has `rows`. Every sum on the way is
// exact.
template <class Type, unsigned rows = tcgen05_rows, unsigned rounds = scaled_tcgen05_rounds>
struct ExpectedScaledRows {
  __host__ __device__ double operator()(std::size_t i) const {
    const auto row = static_cast<unsigned>(i % rows);
    double total = 0;
    for (unsigned column = 0; column < scaled_columns; ++column) {
      total += weight_of(column) * scaled_product<Type>(row, column_vector(0, column));
    }
    return total / 16 * (rounds / scaled_steps<Type>);
  }
};

}  // namespace compute_peak
