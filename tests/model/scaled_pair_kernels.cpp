#include "tests/model/scaled_pair_kernels.hpp"

#include <cluster.hpp>
#include <dynamic_shared.hpp>
#include <tcgen05_pair_scales.hpp>

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

using Slip = ScaledPairSlip;

constexpr unsigned threads = 128, warp = 32;  // a thread per row of the block's sums
constexpr unsigned rows = threads, columns = scaled_pair_columns, steps = scaled_pair_steps;
constexpr unsigned words = 8, copy_bytes = 512, copied_columns = 4, allocated = 128;
constexpr unsigned of_a = columns, of_b = of_a + steps * copied_columns;  // columns of scales
constexpr unsigned a_bytes = rows * 32 * steps, b_bytes = columns * 32 * steps,
                   scale_bytes = copy_bytes * steps;
constexpr unsigned shared_bytes = a_bytes + b_bytes + 2 * scale_bytes + 2 * sizeof(Mbarrier);

struct Shared {
  unsigned char *a, *b, *scales_a, *scales_b;
  Mbarrier* done;
  unsigned* place;
};
__device__ Shared parts_of_shared() {
  auto* const a = static_cast<unsigned char*>(dynamic_shared());
  unsigned char *const b = a + a_bytes, *const scales_a = b + b_bytes,
                       *const scales_b = scales_a + scale_bytes;
  auto* const done = reinterpret_cast<Mbarrier*>(scales_b + scale_bytes);
  return {a, b, scales_a, scales_b, done, reinterpret_cast<unsigned*>(done + 1)};
}

// In a step, pieces of 16 bytes are 128 apart, and eight rows 256; the steps follow each other.
__device__ void store_elements(unsigned char* to, unsigned at, unsigned count, const unsigned* from,
                               unsigned row) {
  for (unsigned i = 0; i < steps * words; ++i) {
    const unsigned step = i / words, piece = i % words / 4;
    const unsigned place = step * count * 32 + at / 8 * 256 + piece * 128 + at % 8 * 16 + i % 4 * 4;
    *reinterpret_cast<unsigned*>(to + place) = from[row * steps * words + i];
  }
}
__device__ void store_scales(unsigned char* to, unsigned at, const unsigned* from, unsigned row) {
  for (unsigned step = 0; step < steps; ++step) {
    *reinterpret_cast<unsigned*>(to + step * copy_bytes + at % 32 * 16 + at / 32 * 4) =
        from[row * steps + step];
  }
}
template <unsigned blocks>
__device__ void bring(const Shared& at, ScaledRows a, ScaledRows b, Slip slip) {
  const unsigned me = threadIdx.x, share = columns / blocks;
  const unsigned first_row = blockIdx.x * rows, first = blocks == 2 ? blockIdx.x * share : 0;
  store_elements(at.a, me, rows, a.elements, first_row + me);
  store_scales(at.scales_a, me, a.scales,
               (slip == Slip::other_rows_of_scales ? 0 : first_row) + me);
  if (me < share) store_elements(at.b, me, share, b.elements, first + me);
  // A copy brings 128 rows, whatever of them a product takes.
  const bool is_shared = slip == Slip::half_of_bs_scales;
  store_scales(at.scales_b, me, b.scales, is_shared ? first + me % share : me % columns);
}

template <unsigned blocks>
__device__ void copy(unsigned to, std::uint64_t from, Slip slip) {
  if (blocks == 2 && slip != Slip::copy_of_one) {
    tcgen05_pair_copy_scales(to, from);
  } else {
    tcgen05_copy_scales(to, from);
  }
}
template <unsigned blocks>
__device__ void copy_scales(const Shared& at, Slip slip) {
  const unsigned beyond = slip == Slip::copy_from_beyond ? 32 : 0;
  const unsigned moved = slip == Slip::copy_elsewhere ? allocated - 2 - of_a : 0;
  for (unsigned step = 0; step < steps; ++step) {
    const auto from = [&](const unsigned char* scales) {
      return tcgen05_matrix(place_in_shared(scales + step * copy_bytes), 16, 128, Swizzle::none);
    };
    const unsigned place = *at.place + step * copied_columns;
    copy<blocks>(place + of_a + moved, from(at.scales_a), slip);
    if (slip != Slip::no_copy) copy<blocks>(place + of_b, from(at.scales_b + beyond), slip);
  }
}

// An mxfp8 product takes another byte in each step.
template <Tcgen05Type type, unsigned blocks>
__device__ void multiply(const Shared& at, Slip slip) {
  constexpr bool is_mxfp8 = type == Tcgen05Type::mxfp8;
  const unsigned d = *at.place, share = columns / blocks;
  const unsigned moved = slip == Slip::scales_elsewhere ? allocated - of_b : 0;
  const unsigned of_rows = slip == Slip::half_the_rows ? rows : blocks * rows;
  for (unsigned step = 0; step < steps; ++step) {
    const auto matrix = [](const unsigned char* tile) {
      return tcgen05_matrix(place_in_shared(tile), 128, 256, Swizzle::none);
    };
    const std::uint64_t a = matrix(at.a + step * rows * 32), b = matrix(at.b + step * share * 32);
    const auto kind = slip == Slip::other_scales ? Tcgen05Type::nvfp4 : type;
    const std::uint32_t product = tcgen05_scaled_instruction(
        kind, of_rows, columns, is_mxfp8 ? step : 0, is_mxfp8 ? 3 - step : 0);
    const unsigned scales_a = d + of_a + step * copied_columns,
                   scales_b = d + of_b + step * copied_columns + moved;
    if (blocks == 2 && slip != Slip::product_of_one) {
      tcgen05_pair_mma_scaled<type>(d, a, b, product, scales_a, scales_b, step > 0);
    } else {
      tcgen05_mma_scaled<type>(d, a, b, product, scales_a, scales_b, step > 0);
    }
  }
}

__device__ void load(const Shared& at, float* d) {
  for (unsigned column = 0; column < columns; column += warp) {
    float held[warp];
    tcgen05_ld(held, *at.place + (threadIdx.x / warp * warp << 16) + column);
    tcgen05_wait_ld(held);
    for (unsigned i = 0; i < warp; ++i) {
      d[(blockIdx.x * rows + threadIdx.x) * columns + column + i] = held[i];
    }
  }
}

__global__ void pair_kernel(Slip slip, float* d, ScaledRows a, ScaledRows b, bool is_mxfp8) {
  const Shared at = parts_of_shared();
  const unsigned rank = blockIdx.x;
  cluster_sync();
  if (threadIdx.x < warp) tcgen05_pair_alloc<allocated>(at.place);
  if (threadIdx.x == 0) {
    mbarrier_init(at.done);
    cluster_mbarrier_fence();
  }
  cluster_sync();
  bring<2>(at, a, b, slip);
  tcgen05_pair_stored();
  if (slip == Slip::no_meeting_before) {
    __syncthreads();
  } else {
    cluster_sync();
  }
  tcgen05_fence_after_sync();
  const unsigned copies = slip == Slip::other_warp_copies ? warp : 0;
  const unsigned asks = slip == Slip::odd_block_copies ? 1 : 0;
  if (threadIdx.x == copies && rank == asks) copy_scales<2>(at, slip);
  tcgen05_fence_before_sync();
  if (slip == Slip::odd_block_copies) {
    cluster_sync();
  } else {
    __syncthreads();
  }
  tcgen05_fence_after_sync();
  if (threadIdx.x == 0 && rank == 0) {
    if (is_mxfp8) {
      multiply<Tcgen05Type::mxfp8, 2>(at, slip);
    } else {
      multiply<Tcgen05Type::nvfp4, 2>(at, slip);
    }
    tcgen05_pair_commit(at.done, 3);
  }
  __syncwarp();
  cluster_mbarrier_wait(at.done, 0);
  if (slip == Slip::stores_early && rank == 1) at.scales_b[4 * threadIdx.x] = 0;
  tcgen05_fence_after_sync();
  load(at, d);
  tcgen05_fence_before_sync();
  if (slip == Slip::no_meeting_after) {
    __syncthreads();
  } else {
    cluster_sync();
  }
  if (threadIdx.x < warp) tcgen05_pair_dealloc<allocated>(*at.place);
}

template <Tcgen05Type type>
__global__ void block_kernel(float* d, ScaledRows a, ScaledRows b) {
  const Shared at = parts_of_shared();
  bring<1>(at, a, b, Slip::none);
  tcgen05_stored();
  if (threadIdx.x < warp) tcgen05_alloc<allocated>(at.place);
  if (threadIdx.x == 0) mbarrier_init(at.done);
  __syncthreads();
  tcgen05_fence_after_sync();
  if (threadIdx.x == 0) {
    copy_scales<1>(at, Slip::none);
    multiply<type, 1>(at, Slip::none);
    tcgen05_commit(at.done);
  }
  __syncwarp();
  mbarrier_wait(at.done, 0);
  tcgen05_fence_after_sync();
  load(at, d);
  tcgen05_fence_before_sync();
  __syncthreads();
  if (threadIdx.x < warp) tcgen05_dealloc<allocated>(*at.place);
}

}  // namespace

void multiply_scaled_in_pair(Tcgen05Type type, Slip slip, float* d, ScaledRows a, ScaledRows b) {
  const unsigned cluster = slip == Slip::no_cluster ? 1 : 2;
  launch_cluster(pair_kernel, cluster, 2, threads, shared_bytes, nullptr, slip, d, a, b,
                 type == Tcgen05Type::mxfp8);
}

void multiply_scaled_in_blocks(Tcgen05Type type, float* d, ScaledRows a, ScaledRows b) {
  const auto kernel = type == Tcgen05Type::mxfp8 ? block_kernel<Tcgen05Type::mxfp8>
                                                 : block_kernel<Tcgen05Type::nvfp4>;
  launch(kernel, 2, threads, shared_bytes, nullptr, d, a, b);
}

}  // namespace gpubench::kernels
