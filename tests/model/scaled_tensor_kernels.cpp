#include "tests/model/scaled_tensor_kernels.hpp"

#include <dynamic_shared.hpp>
#include <tcgen05_scales.hpp>
#include <warp_mma.hpp>

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

constexpr unsigned threads = 128, warp = 32, allocated = 64;
constexpr unsigned a_bytes = scaled_rows * 32, b_bytes = scaled_columns * 32, scale_bytes = 512;
constexpr unsigned shared_bytes = a_bytes + b_bytes + scale_bytes;
constexpr unsigned of_a = scaled_columns, of_b = of_a + 4;  // columns of scales
constexpr unsigned e4m3_one = 0x38383838, ue8m0_one = 0x7f7f7f7f;

__device__ void copy(const unsigned char* scales, unsigned d, ScaledSlip slip) {
  if (slip == ScaledSlip::no_copy) return;
  if (slip == ScaledSlip::copy_from_beyond) scales += 16;
  const auto from = tcgen05_matrix(place_in_shared(scales), 16, 128, Swizzle::none);
  const unsigned moved = slip == ScaledSlip::copy_elsewhere ? allocated - 2 - of_a
                         : slip == ScaledSlip::copy_to_lane ? 1u << 16
                                                            : 0;
  tcgen05_copy_scales(d + of_a + moved, from);
  tcgen05_copy_scales(d + of_b, from);
}

__device__ void multiply(const unsigned char* a, unsigned d, ScaledSlip slip) {
  const auto matrix = [](const unsigned char* tile) {
    return tcgen05_matrix(place_in_shared(tile), 128, 256, Swizzle::none);
  };
  const auto type = slip == ScaledSlip::other_scales ? Tcgen05Type::nvfp4 : Tcgen05Type::mxfp8;
  const unsigned scales = slip == ScaledSlip::scales_elsewhere ? d + allocated : d + of_a;
  tcgen05_mma_scaled<Tcgen05Type::mxfp8>(
      d, matrix(a), matrix(a + a_bytes),
      tcgen05_scaled_instruction(type, scaled_rows, scaled_columns, 0, 0), scales, d + of_b, false);
}

__global__ void scaled_kernel(ScaledSlip slip, float* out) {
  __shared__ unsigned place;
  __shared__ Mbarrier done;
  auto* const a = static_cast<unsigned char*>(dynamic_shared());
  const unsigned char* const scales = a + a_bytes + b_bytes;
  for (unsigned at = 4 * threadIdx.x; at < shared_bytes; at += 4 * threads) {
    *reinterpret_cast<unsigned*>(a + at) = at < a_bytes + b_bytes ? e4m3_one : ue8m0_one;
  }
  tcgen05_stored();
  if (threadIdx.x < warp) tcgen05_alloc<allocated>(&place);
  if (threadIdx.x == 0) mbarrier_init(&done);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  const unsigned d = place;
  if (threadIdx.x == (slip == ScaledSlip::other_warp ? warp : 0)) copy(scales, d, slip);
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  if (threadIdx.x == (slip == ScaledSlip::other_thread ? 1 : 0)) {
    multiply(a, d, slip);
    tcgen05_commit(&done);
  }
  __syncwarp();
  mbarrier_wait(&done, 0);
  tcgen05_fence_after_sync();
  float held[32];
  tcgen05_ld(held, d + (threadIdx.x / warp * warp << 16));
  tcgen05_wait_ld(held);
  for (unsigned i = 0; i < scaled_columns; ++i) out[threadIdx.x * scaled_columns + i] = held[i];
  tcgen05_fence_before_sync();
  __syncthreads();
  tcgen05_fence_after_sync();
  if (threadIdx.x < warp) tcgen05_dealloc<allocated>(d);
}

}  // namespace

void multiply_scaled_ones(ScaledSlip slip, float* d) {
  launch(scaled_kernel, 1, threads, shared_bytes, nullptr, slip, d);
}

}  // namespace gpubench::kernels
