#include "tests/model/matrix_kernels.hpp"

#include <mma.h>
#include <warp_mma.hpp>

#include <type_traits>

#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

namespace wmma = nvcuda::wmma;

template <class T, class Element, int step, class LayoutA, class LayoutB>
__global__ void wmma_kernel(float* d, const Element* a, const Element* b, unsigned depth,
                            bool d_by_rows) {
  constexpr bool a_by_rows = std::is_same_v<LayoutA, wmma::row_major>;
  constexpr bool b_by_rows = std::is_same_v<LayoutB, wmma::row_major>;
  wmma::fragment<wmma::accumulator, 16, 16, step, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  for (unsigned k = 0; k < depth; k += step) {
    wmma::fragment<wmma::matrix_a, 16, 16, step, T, LayoutA> part_a;
    wmma::fragment<wmma::matrix_b, 16, 16, step, T, LayoutB> part_b;
    wmma::load_matrix_sync(part_a, a + (a_by_rows ? k : k * 16), a_by_rows ? depth : 16);
    wmma::load_matrix_sync(part_b, b + (b_by_rows ? k * 16 : k), b_by_rows ? 16 : depth);
    wmma::mma_sync(sum, part_a, part_b, sum);
  }
  wmma::store_matrix_sync(d, sum, 16, d_by_rows ? wmma::mem_row_major : wmma::mem_col_major);
}

__global__ void add_identity_kernel(float* d, bool by_rows) {
  const auto layout = by_rows ? wmma::mem_row_major : wmma::mem_col_major;
  __shared__ __align__(32) __half one[16 * 16];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
    one[i] = __float2half(i % 17 == 0 ? 1.0f : 0.0f);
  }
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::load_matrix_sync(a, one, 16);
  wmma::load_matrix_sync(b, one, 16);
  wmma::load_matrix_sync(sum, d, 16, layout);
  wmma::mma_sync(sum, a, b, sum);
  wmma::store_matrix_sync(d, sum, 16, layout);
}

template <class Element>
__device__ unsigned pair_at(const Element* first) {
  return *reinterpret_cast<const unsigned*>(first);
}

template <class Element>
__global__ void mma16_kernel(float* d, const Element* a, const Element* b, const float* c) {
  const unsigned g = threadIdx.x / 4, t = threadIdx.x % 4;
  const unsigned from_a[4] = {pair_at(a + g * 16 + 2 * t), pair_at(a + (g + 8) * 16 + 2 * t),
                              pair_at(a + g * 16 + 2 * t + 8),
                              pair_at(a + (g + 8) * 16 + 2 * t + 8)};
  const unsigned from_b[2] = {pair_at(b + g * 16 + 2 * t), pair_at(b + g * 16 + 2 * t + 8)};
  const float from_c[4] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1], c[(g + 8) * 8 + 2 * t],
                           c[(g + 8) * 8 + 2 * t + 1]};
  float to_d[4];
  if constexpr (std::is_same_v<Element, __half>) {
    mma_m16n8k16_fp16(to_d, from_a, from_b, from_c);
  } else {
    mma_m16n8k16_bf16(to_d, from_a, from_b, from_c);
  }
  d[g * 8 + 2 * t] = to_d[0];
  d[g * 8 + 2 * t + 1] = to_d[1];
  d[(g + 8) * 8 + 2 * t] = to_d[2];
  d[(g + 8) * 8 + 2 * t + 1] = to_d[3];
}

__global__ void ldmatrix_kernel(unsigned* out, const unsigned short* rows, bool transposed) {
  __shared__ __align__(16) unsigned short held[32][8];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) held[i / 8][i % 8] = rows[i];
  __syncthreads();
  unsigned got[4];
  if (transposed) {
    ldmatrix_transposed(got, held[threadIdx.x]);
  } else {
    ldmatrix(got, held[threadIdx.x]);
  }
  for (unsigned i = 0; i < 4; ++i) out[i * 32 + threadIdx.x] = got[i];
}

__global__ void three_products_kernel(float* d, const __nv_bfloat16* a, const __nv_bfloat16* b) {
  const unsigned g = threadIdx.x / 4, t = threadIdx.x % 4;
  const unsigned from_a[4] = {pair_at(a + g * 16 + 2 * t), pair_at(a + (g + 8) * 16 + 2 * t),
                              pair_at(a + g * 16 + 2 * t + 8),
                              pair_at(a + (g + 8) * 16 + 2 * t + 8)};
  unsigned from_b[6];
  float sums[3][4] = {};
  for (unsigned i = 0; i < 6; ++i)
    from_b[i] = pair_at(b + (i / 2 * 8 + g) * 16 + 2 * t + i % 2 * 8);
  mma_m16n8k16_bf16(sums, from_a, from_b);
  for (unsigned i = 0; i < 12; ++i) {
    d[i / 4 * 128 + (g + i % 4 / 2 * 8) * 8 + 2 * t + i % 2] = sums[i / 4][i % 4];
  }
}

__device__ unsigned bits_at(const float* at) { return *reinterpret_cast<const unsigned*>(at); }

__global__ void mma8_kernel(float* d, const float* a, const float* b, const float* c) {
  const unsigned g = threadIdx.x / 4, t = threadIdx.x % 4;
  const unsigned from_a[4] = {bits_at(a + g * 8 + t), bits_at(a + (g + 8) * 8 + t),
                              bits_at(a + g * 8 + t + 4), bits_at(a + (g + 8) * 8 + t + 4)};
  const unsigned from_b[2] = {bits_at(b + g * 8 + t), bits_at(b + g * 8 + t + 4)};
  float sums[4] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1], c[(g + 8) * 8 + 2 * t],
                   c[(g + 8) * 8 + 2 * t + 1]};
  mma_m16n8k8_tf32(sums, from_a, from_b, sums);
  d[g * 8 + 2 * t] = sums[0];
  d[g * 8 + 2 * t + 1] = sums[1];
  d[(g + 8) * 8 + 2 * t] = sums[2];
  d[(g + 8) * 8 + 2 * t + 1] = sums[3];
}

__global__ void tf32_kernel(float* out, const float* in) {
  out[threadIdx.x] = wmma::__float_to_tf32(in[threadIdx.x]);
}

template <class T, int step, class Element>
void run_wmma(Layouts layouts, float* d, const Element* a, const Element* b, unsigned depth) {
  using wmma::col_major;
  using wmma::row_major;
  const auto kernel =
      layouts.a_by_rows ? (layouts.b_by_rows ? wmma_kernel<T, Element, step, row_major, row_major>
                                             : wmma_kernel<T, Element, step, row_major, col_major>)
                        : (layouts.b_by_rows ? wmma_kernel<T, Element, step, col_major, row_major>
                                             : wmma_kernel<T, Element, step, col_major, col_major>);
  launch(kernel, 1, 32, 0, nullptr, d, a, b, depth, layouts.d_by_rows);
}

}  // namespace

void multiply_by_wmma(Layouts layouts, float* d, const __half* a, const __half* b, unsigned depth) {
  run_wmma<__half, 16>(layouts, d, a, b, depth);
}
void multiply_by_wmma(Layouts layouts, float* d, const __nv_bfloat16* a, const __nv_bfloat16* b,
                      unsigned depth) {
  run_wmma<__nv_bfloat16, 16>(layouts, d, a, b, depth);
}
void multiply_by_wmma(Layouts layouts, float* d, const float* a, const float* b, unsigned depth) {
  run_wmma<wmma::precision::tf32, 8>(layouts, d, a, b, depth);
}
void add_identity(bool by_rows, float* d, unsigned threads) {
  launch(add_identity_kernel, 1, threads, 0, nullptr, d, by_rows);
}

void multiply_by_mma(float* d, const __half* a, const __half* b, const float* c) {
  launch(mma16_kernel<__half>, 1, 32, 0, nullptr, d, a, b, c);
}
void multiply_by_mma(float* d, const __nv_bfloat16* a, const __nv_bfloat16* b, const float* c) {
  launch(mma16_kernel<__nv_bfloat16>, 1, 32, 0, nullptr, d, a, b, c);
}
void multiply_by_mma(float* d, const float* a, const float* b, const float* c) {
  launch(mma8_kernel, 1, 32, 0, nullptr, d, a, b, c);
}
void load_matrices(unsigned* out, const unsigned short* rows, bool transposed, unsigned threads) {
  launch(ldmatrix_kernel, 1, threads, 0, nullptr, out, rows, transposed);
}
void multiply_three(float* d, const __nv_bfloat16* a, const __nv_bfloat16* b) {
  launch(three_products_kernel, 1, 32, 0, nullptr, d, a, b);
}
void round_to_tf32(float* out, const float* in) { launch(tf32_kernel, 1, 32, 0, nullptr, out, in); }

}  // namespace gpubench::kernels
