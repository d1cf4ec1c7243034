// nvcuda::wmma: matrix multiplication by a warp, 16 x 16 x 16 of half and bfloat16, 16 x 16 x 8 of
// tf32, with float sums.
//
// CUDA leaves open which element a lane holds. Here a fragment is two of mma.sync's, side by side,
// and it is loaded as these are: neighbours in memory that share a register by one access, others
// apart. (Compiled code may load by ldmatrix, which moves the same bytes.) A fragment that nothing
// was loaded into is NaN.
#pragma once

#include <type_traits>

#include "harness/platform/model/include/cuda_bf16.h"
#include "harness/platform/model/include/cuda_fp16.h"
#include "harness/platform/model/include/warp_matrix.h"

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

template <class Element, unsigned count>
struct FragmentElements {
  static constexpr int num_elements = count;
  Element x[count];
  __forceinline__ FragmentElements() { __builtin_memset(static_cast<void*>(x), 0xff, sizeof(x)); }
};

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment;
template <gpubench::model::SmallFloat format, class Layout>
class fragment<matrix_a, 16, 16, 16, gpubench::model::Float16<format>, Layout>
    : public FragmentElements<gpubench::model::Float16<format>, 8> {};
template <gpubench::model::SmallFloat format, class Layout>
class fragment<matrix_b, 16, 16, 16, gpubench::model::Float16<format>, Layout>
    : public FragmentElements<gpubench::model::Float16<format>, 8> {};
template <class Layout>
class fragment<matrix_a, 16, 16, 8, precision::tf32, Layout> : public FragmentElements<float, 4> {};
template <class Layout>
class fragment<matrix_b, 16, 16, 8, precision::tf32, Layout> : public FragmentElements<float, 4> {};
template <int k>
class fragment<accumulator, 16, 16, k, float> : public FragmentElements<float, 8> {};

__forceinline__ float __float_to_tf32(float x) { return gpubench::model::round_to_tf32(x); }

// --- loads and stores: `stride` elements from a row (column) to the next ---
namespace detail {

template <bool by_rows>
__forceinline__ std::size_t offset(gpubench::model::Place at, unsigned stride) {
  return by_rows ? std::size_t{at.row} * stride + at.column
                 : std::size_t{at.column} * stride + at.row;
}

// Two elements at a time; `joined`: they are neighbours in memory.
template <auto where, bool by_rows, bool joined, gpubench::model::SmallFloat format>
__forceinline__ void load_pairs(gpubench::model::Float16<format>* x,
                                const gpubench::model::Float16<format>* from, unsigned stride) {
  const unsigned lane = gpubench::model::lane_of_thread();
  for (unsigned i = 0; i < 8; i += 2) {
    const auto* first = from + offset<by_rows>(where(lane, i), stride);
    if constexpr (joined) {
      const auto pair = *reinterpret_cast<const gpubench::model::Pair16<format>*>(first);
      x[i] = pair.x;
      x[i + 1] = pair.y;
    } else {
      x[i] = first[0];
      x[i + 1] = first[stride];
    }
  }
}

template <auto where, bool by_rows>
__forceinline__ void load_singly(float* x, const float* from, unsigned stride) {
  const unsigned lane = gpubench::model::lane_of_thread();
  for (unsigned i = 0; i < 4; ++i) x[i] = from[offset<by_rows>(where(lane, i), stride)];
}

}  // namespace detail

template <gpubench::model::SmallFloat format, class Layout>
__forceinline__ void load_matrix_sync(
    fragment<matrix_a, 16, 16, 16, gpubench::model::Float16<format>, Layout>& a,
    const gpubench::model::Float16<format>* from, unsigned stride) {
  constexpr bool by_rows = std::is_same_v<Layout, row_major>;
  detail::load_pairs<gpubench::model::place_in_a16, by_rows, by_rows>(a.x, from, stride);
}
template <gpubench::model::SmallFloat format, class Layout>
__forceinline__ void load_matrix_sync(
    fragment<matrix_b, 16, 16, 16, gpubench::model::Float16<format>, Layout>& b,
    const gpubench::model::Float16<format>* from, unsigned stride) {
  constexpr bool by_rows = std::is_same_v<Layout, row_major>;
  detail::load_pairs<gpubench::model::place_in_b16, by_rows, !by_rows>(b.x, from, stride);
}
template <class Layout>
__forceinline__ void load_matrix_sync(fragment<matrix_a, 16, 16, 8, precision::tf32, Layout>& a,
                                      const float* from, unsigned stride) {
  detail::load_singly<gpubench::model::place_in_a32, std::is_same_v<Layout, row_major>>(a.x, from,
                                                                                        stride);
}
template <class Layout>
__forceinline__ void load_matrix_sync(fragment<matrix_b, 16, 16, 8, precision::tf32, Layout>& b,
                                      const float* from, unsigned stride) {
  detail::load_singly<gpubench::model::place_in_b32, std::is_same_v<Layout, row_major>>(b.x, from,
                                                                                        stride);
}

template <int k>
__forceinline__ void load_matrix_sync(fragment<accumulator, 16, 16, k, float>& c, const float* from,
                                      unsigned stride, layout_t layout) {
  const unsigned lane = gpubench::model::lane_of_thread();
  for (unsigned i = 0; i < 8; i += 2) {
    const auto at = gpubench::model::place_in_c(lane, i);
    if (layout == mem_row_major) {
      const float2 pair = *reinterpret_cast<const float2*>(from + detail::offset<true>(at, stride));
      c.x[i] = pair.x;
      c.x[i + 1] = pair.y;
    } else {
      const float* first = from + detail::offset<false>(at, stride);
      c.x[i] = first[0];
      c.x[i + 1] = first[stride];
    }
  }
}
template <int k>
__forceinline__ void store_matrix_sync(float* to, const fragment<accumulator, 16, 16, k, float>& d,
                                       unsigned stride, layout_t layout) {
  const unsigned lane = gpubench::model::lane_of_thread();
  for (unsigned i = 0; i < 8; i += 2) {
    const auto at = gpubench::model::place_in_c(lane, i);
    if (layout == mem_row_major) {
      *reinterpret_cast<float2*>(to + detail::offset<true>(at, stride)) =
          float2(d.x[i], d.x[i + 1]);
    } else {
      float* first = to + detail::offset<false>(at, stride);
      first[0] = d.x[i];
      first[stride] = d.x[i + 1];
    }
  }
}

// --- arithmetic ---

template <class Use, int m, int n, int k, class T, class Layout, class Value>
__forceinline__ void fill_fragment(fragment<Use, m, n, k, T, Layout>& f, Value value) {
  for (auto& x : f.x) x = value;
}

template <int k, class T, class LayoutA, class LayoutB>
__forceinline__ void mma_sync(fragment<accumulator, 16, 16, k, float>& d,
                              const fragment<matrix_a, 16, 16, k, T, LayoutA>& a,
                              const fragment<matrix_b, 16, 16, k, T, LayoutB>& b,
                              const fragment<accumulator, 16, 16, k, float>& c) {
  using gpubench::model::Tensor;
  constexpr auto type = std::is_same_v<T, __half>          ? Tensor::fp16
                        : std::is_same_v<T, __nv_bfloat16> ? Tensor::bf16
                                                           : Tensor::tf32;
  gpubench::model::multiply_matrices(type, {d.x, a.x, b.x, c.x});
  gpubench::model::multiply_matrices(type, {d.x + 4, a.x, b.x + b.num_elements / 2, c.x + 4});
}

}  // namespace nvcuda::wmma
