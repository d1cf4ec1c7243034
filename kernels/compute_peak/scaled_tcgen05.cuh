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
// In shared memory: a, b, a's scales, b's.
inline constexpr unsigned scaled_b_bytes = scaled_columns * 32;
inline constexpr unsigned scaled_shared_bytes = tcgen05_a_bytes + scaled_b_bytes + 6 * copy_bytes;

struct ScaledShared {
  unsigned char *a, *b, *scales_a, *scales_b;
};
__device__ inline ScaledShared scaled_shared() {
  auto* const a = static_cast<unsigned char*>(dynamic_shared());
  unsigned char* const b = a + tcgen05_a_bytes;
  return {a, b, b + scaled_b_bytes, b + scaled_b_bytes + 2 * copy_bytes};
}

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
template <class Type>
__device__ inline void store_scaled(const ScaledShared& to) {
  for (unsigned at = threadIdx.x; at < 2 * copied_vectors; at += matrix_threads) {
    if (at < tcgen05_rows) {
      store_elements<Type>(to.a, at, at);
      store_scales<Type>(to.scales_a, 1, at, at);
    }
    if (at < scaled_columns) store_elements<Type>(to.b, at, column_vector(0, at));
    store_scales<Type>(to.scales_b, 2, at, column_vector(0, at));
  }
}

// One thread.
template <class Type>
__device__ inline void multiply_scaled(const ScaledShared& from, unsigned d, Mbarrier* done) {
  using gpubench::Swizzle;
#pragma unroll
  for (unsigned copy = 0; copy < 2; ++copy) {
    const auto place = place_in_shared(from.scales_a + copy * copy_bytes);
    tcgen05_copy_scales(d + scales_of_a + copy * copied_columns,
                        gpubench::tcgen05_matrix(place, 16, 128, Swizzle::none));
  }
#pragma unroll
  for (unsigned copy = 0; copy < 4; ++copy) {
    const auto place = place_in_shared(from.scales_b + copy * copy_bytes);
    tcgen05_copy_scales(d + scales_of_b + copy * copied_columns,
                        gpubench::tcgen05_matrix(place, 16, 128, Swizzle::none));
  }
  // A row's two pieces of 16 bytes are 128 apart, eight rows 256 (tile_offset()).
  const std::uint64_t a = gpubench::tcgen05_matrix(place_in_shared(from.a), 128, 256,
                                                   Swizzle::none),
                      b = gpubench::tcgen05_matrix(place_in_shared(from.b), 128, 256,
                                                   Swizzle::none);
  constexpr auto type = scaled_tcgen05_type<Type>;
#pragma unroll 1
  for (unsigned round = 0; round < scaled_tcgen05_rounds; round += 16) {
#pragma unroll
    for (unsigned unrolled = 0; unrolled < 16; ++unrolled) {
      const unsigned of_a = first_of_a<Type>(unrolled), of_b = first_of_b<Type>(unrolled);
      const std::uint32_t product = gpubench::tcgen05_scaled_instruction(
          type, tcgen05_rows, scaled_columns, of_a % 4, of_b % 4);
      tcgen05_mma_scaled<type>(d, a, b, product, d + scales_of_a + of_a / 4 * copied_columns,
                               d + scales_of_b + of_b / 4 * 2 * copied_columns,
                               round + unrolled > 0);
    }
  }
  tcgen05_commit(done);
}

template <class Type>
__global__ void __launch_bounds__(matrix_threads) scaled_tcgen05(double* out) {
  __shared__ unsigned place;
  __shared__ Mbarrier done;
  const ScaledShared shared = scaled_shared();
  store_scaled<Type>(shared);
  tcgen05_stored();
  if (threadIdx.x < warp) tcgen05_alloc<tcgen05_columns>(&place);
  if (threadIdx.x == 0) mbarrier_init(&done);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  const unsigned d = place;
  if (threadIdx.x == 0) multiply_scaled<Type>(shared, d, &done);
  __syncwarp();
  mbarrier_wait(&done, 0);  // meanwhile another block's products fill the unit
  tcgen05_fence_after_sync();
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
  out[blockIdx.x * std::size_t{matrix_threads} + threadIdx.x] = static_cast<double>(sum) / 16;
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  if (threadIdx.x < warp) tcgen05_dealloc<tcgen05_columns>(d);
}

// What thread i leaves: of one row of sums. Every sum on the way is exact.
template <class Type>
struct ExpectedScaledRows {
  __host__ __device__ double operator()(std::size_t i) const {
    const auto row = static_cast<unsigned>(i % matrix_threads);
    double total = 0;
    for (unsigned column = 0; column < scaled_columns; ++column) {
      total += weight_of(column) * scaled_product<Type>(row, column_vector(0, column));
    }
    return total / 16 * (scaled_tcgen05_rounds / scaled_steps<Type>);
  }
};

}  // namespace compute_peak
