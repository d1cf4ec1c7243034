// stream: what the memory itself gives, when nothing else is in the way.
//
// A block covers one tile: each of its threads touches `unroll` vectors, `threads` vectors apart,
// all loads before the first use of one. Kernels that only read write one sum per block.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "kernels/common/block_sum.cuh"

namespace stream {

inline constexpr unsigned threads = 256;

// The part of an array that one block covers, and in which pieces.
template <class T, class V, unsigned vectors_a_thread>
struct Tile {
  using Element = T;
  using Vector = V;
  static constexpr unsigned unroll = vectors_a_thread;
  static constexpr std::size_t elements = threads * unroll * sizeof(V) / sizeof(T);

  // The calling thread's first vector of `array`; the next is `threads` vectors on.
  __device__ static const V* of(const T* array) {
    return reinterpret_cast<const V*>(array) + first();
  }
  __device__ static V* of(T* array) { return reinterpret_cast<V*>(array) + first(); }
  __device__ static std::size_t first() {
    return blockIdx.x * std::size_t{threads * unroll} + threadIdx.x;
  }
};

// Sums of the suite's inputs are exact in any order: 2^13 elements per block at most.
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, int, T>;

// --- operations ---

inline constexpr float scalar = 0.5f;

struct Copied {
  template <class T>
  __host__ __device__ T operator()(T a) const {
    return a;
  }
};
struct Scaled {
  template <class T>
  __host__ __device__ T operator()(T a) const {
    return T{scalar} * a;
  }
};
struct Added {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Triad {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + T{scalar} * b;
  }
};
struct Multiplied {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a * b;
  }
};

// `Operation` on every element of a vector.
template <class Operation, class Vector, class... More>
__device__ Vector each(const Vector& a, const More&... b) {
  constexpr Operation op;
  if constexpr (std::is_arithmetic_v<Vector>) {
    return op(a, b...);
  } else if constexpr (sizeof(Vector) == 4 * sizeof(a.x)) {
    return Vector{op(a.x, b.x...), op(a.y, b.y...), op(a.z, b.z...), op(a.w, b.w...)};
  } else {
    return Vector{op(a.x, b.x...), op(a.y, b.y...)};
  }
}

template <class S, class Vector>
__device__ S sum_of(const Vector& v) {
  if constexpr (std::is_arithmetic_v<Vector>) {
    return v;
  } else if constexpr (sizeof(Vector) == 4 * sizeof(v.x)) {
    return v.x + v.y + v.z + v.w;
  } else {
    return v.x + v.y;
  }
}

// What write leaves at element i: fits every dtype and costs a few cheap instructions.
template <class T>
__host__ __device__ T written(unsigned i) {
  return static_cast<T>((i ^ i >> 7 ^ i >> 14 ^ i >> 21) & 127);
}

// --- kernels ---

template <class Tile>
__global__ void read(const typename Tile::Element* in, Sum<typename Tile::Element>* sums) {
  const auto* from = Tile::of(in);
  typename Tile::Vector got[Tile::unroll];
#pragma unroll
  for (unsigned k = 0; k < Tile::unroll; ++k) got[k] = from[k * threads];
  Sum<typename Tile::Element> sum = 0;
#pragma unroll
  for (unsigned k = 0; k < Tile::unroll; ++k) sum += sum_of<Sum<typename Tile::Element>>(got[k]);
  write_block_sum<threads>(sum, sums);
}

template <class Tile>
__global__ void write(typename Tile::Element* out) {
  using T = typename Tile::Element;
  using Vector = typename Tile::Vector;
  constexpr unsigned lanes = sizeof(Vector) / sizeof(T);
  Vector* to = Tile::of(out);
#pragma unroll
  for (unsigned k = 0; k < Tile::unroll; ++k) {
    const unsigned i = (static_cast<unsigned>(Tile::first()) + k * threads) * lanes;
    if constexpr (lanes == 1) {
      to[k * threads] = written<T>(i);
    } else if constexpr (lanes == 2) {
      to[k * threads] = Vector{written<T>(i), written<T>(i + 1)};
    } else {
      to[k * threads] =
          Vector{written<T>(i), written<T>(i + 1), written<T>(i + 2), written<T>(i + 3)};
    }
  }
}

template <class Operation, class Tile>
__global__ void one_to_one(const typename Tile::Element* a, typename Tile::Element* out) {
  const auto* from = Tile::of(a);
  auto* to = Tile::of(out);
  typename Tile::Vector got[Tile::unroll];
#pragma unroll
  for (unsigned k = 0; k < Tile::unroll; ++k) got[k] = from[k * threads];
#pragma unroll
  for (unsigned k = 0; k < Tile::unroll; ++k) to[k * threads] = each<Operation>(got[k]);
}

template <class Operation, class Tile>
__global__ void two_to_one(const typename Tile::Element* a, const typename Tile::Element* b,
                           typename Tile::Element* out) {
  const auto* from_a = Tile::of(a);
  const auto* from_b = Tile::of(b);
  auto* to = Tile::of(out);
  typename Tile::Vector got_a[Tile::unroll], got_b[Tile::unroll];
#pragma unroll
  for (unsigned k = 0; k < Tile::unroll; ++k) {
    got_a[k] = from_a[k * threads];
    got_b[k] = from_b[k * threads];
  }
#pragma unroll
  for (unsigned k = 0; k < Tile::unroll; ++k) {
    to[k * threads] = each<Operation>(got_a[k], got_b[k]);
  }
}

template <class Tile>
__global__ void dot(const typename Tile::Element* a, const typename Tile::Element* b,
                    typename Tile::Element* sums) {
  using T = typename Tile::Element;
  const auto* from_a = Tile::of(a);
  const auto* from_b = Tile::of(b);
  typename Tile::Vector got_a[Tile::unroll], got_b[Tile::unroll];
#pragma unroll
  for (unsigned k = 0; k < Tile::unroll; ++k) {
    got_a[k] = from_a[k * threads];
    got_b[k] = from_b[k * threads];
  }
  T sum = 0;
#pragma unroll
  for (unsigned k = 0; k < Tile::unroll; ++k) {
    sum += sum_of<T>(each<Multiplied>(got_a[k], got_b[k]));
  }
  write_block_sum<threads>(sum, sums);
}

// --- what they must compute ---

template <class T>
struct ExpectedWritten {
  __host__ __device__ T operator()(std::size_t i) const {
    return written<T>(static_cast<unsigned>(i));
  }
};

// `Operation` on element i of each source.
template <class Operation, class Source>
struct ExpectedOfOne {
  Source a;
  __host__ __device__ auto operator()(std::size_t i) const { return Operation{}(a(i)); }
};
template <class Operation, class Source>
struct ExpectedOfTwo {
  Source a, b;
  __host__ __device__ auto operator()(std::size_t i) const { return Operation{}(a(i), b(i)); }
};

// The sum of the elements of block `block`: of a double every integer and product sum is exact.
template <class Values>
struct ExpectedSum {
  Values values;
  std::size_t elements;
  __host__ __device__ double operator()(std::size_t block) const {
    double sum = 0;
    for (std::size_t j = 0; j < elements; ++j) sum += values(block * elements + j);
    return sum;
  }
};

}  // namespace stream
