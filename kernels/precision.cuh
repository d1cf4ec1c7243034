// precision: the suite's own kernels: parts of numbers for products of fewer bits, sums in narrow
// accumulators, and casts.
//
// A matrix whose numbers are split into parts has them side by side: row r is part 0 of its k
// elements, then part 1, and so on; in a `reversed` one the last part comes first. So part 0 to p
// of a row of A face part p to 0 of a row of B, and one multiplication with sums of (p + 1) k
// products makes all products of parts whose numbers add up to p.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/common/pack.cuh"
#include "kernels/precision/formats.cuh"
#include "kernels/precision/laws.cuh"
#include "kernels/precision/values.cuh"

namespace precision {

inline constexpr unsigned split_threads = 512, split_each = 4;
inline constexpr unsigned sum_threads = 256;
inline constexpr unsigned cast_threads = 256, cast_each = 8;

// --- parts ---

// Four numbers of a part, as one word of a lane.
template <class Part>
using FourParts = std::conditional_t<sizeof(Part) == 2, uint2, unsigned>;

// Takes the next part off `rest`. A bf16 is the nearest one; an int8 has seven bits of a number in
// [-1, 1], which is multiplied by 128 for the next.
__host__ __device__ inline void take_part(float& rest, __nv_bfloat16& part) {
  part = __float2bfloat16(rest);
  rest -= __bfloat162float(part);
}
__host__ __device__ inline void take_part(double& rest, std::int8_t& part) {
  const double whole = rint(rest * 64);
  part = static_cast<std::int8_t>(whole);
  rest = (rest - whole * 0x1p-6) * 128;
}

// in[rows][k], four elements per thread.
template <class In, class Part, unsigned parts, bool reversed>
__global__ void split(const In* in, Part* out, unsigned k, std::size_t elements) {
  const std::size_t first = (blockIdx.x * std::size_t{split_threads} + threadIdx.x) * split_each;
  if (first >= elements) return;
  constexpr unsigned at_once = Pack<In>::size;
  In rest[split_each / at_once][at_once];
#pragma unroll
  for (unsigned i = 0; i < split_each / at_once; ++i) {
    load_pack(in, first / at_once + i).unpack(rest[i]);
  }
  Part* const row = out + first / k * parts * k + first % k;
#pragma unroll
  for (unsigned p = 0; p < parts; ++p) {
    FourParts<Part> word;
    Part* const held = reinterpret_cast<Part*>(&word);
#pragma unroll
    for (unsigned i = 0; i < split_each; ++i) {
      take_part(rest[i / at_once][i % at_once], held[i]);
    }
    const std::size_t place = reversed ? parts - 1 - p : p;
    *reinterpret_cast<FourParts<Part>*>(row + place * k) = word;
  }
}

// d = unit * (sums[0] + step * (sums[1] + step * ...)): the products of parts, the smallest first.
// `step` and `unit` are powers of two.
template <class In, class Out, unsigned parts>
__global__ void combine(const In* sums, Out* d, std::size_t elements, Out step, Out unit) {
  const std::size_t first = (blockIdx.x * std::size_t{split_threads} + threadIdx.x) * split_each;
  if (first >= elements) return;
  static_assert(Pack<In>::size == split_each);
  In got[parts][split_each];
#pragma unroll
  for (unsigned p = 0; p < parts; ++p) {
    load_pack(sums + p * elements, first / split_each).unpack(got[p]);
  }
  constexpr unsigned at_once = Pack<Out>::size;
#pragma unroll
  for (unsigned i = 0; i < split_each / at_once; ++i) {
    Out total[at_once] = {};
#pragma unroll
    for (unsigned p = parts; p-- > 0;) {
#pragma unroll
      for (unsigned j = 0; j < at_once; ++j) {
        total[j] = total[j] * step + static_cast<Out>(got[p][i * at_once + j]);
      }
    }
#pragma unroll
    for (unsigned j = 0; j < at_once; ++j) total[j] *= unit;
    store_pack(d, first / at_once + i, Pack<Out>::of(total));
  }
}

// --- sums ---

// Numbers of a column that a thread loads before it adds them; n is a power of two, and not less.
// (Loops over them have no #pragma unroll, which a host compiler refuses. nvcc unrolls them by
// itself: they use no local memory.)
inline constexpr unsigned loaded_at_once = 8;

template <class Sum, class Values>
__host__ __device__ inline void load_addends(Sum (&to)[loaded_at_once], const Values& values,
                                             unsigned first, std::size_t column,
                                             std::size_t columns) {
  float loaded[loaded_at_once];
  for (unsigned i = 0; i < loaded_at_once; ++i) loaded[i] = values[(first + i) * columns + column];
  for (unsigned i = 0; i < loaded_at_once; ++i) to[i] = static_cast<Sum>(loaded[i]);
}

// The sum of column `column` of values[n][columns]: one number after the other.
template <class Sum>
struct Running {
  template <class Values>
  __host__ __device__ Sum operator()(const Values& values, unsigned n, std::size_t column,
                                     std::size_t columns) const {
    Sum sum = Sum(0.0f);
    for (unsigned first = 0; first < n; first += loaded_at_once) {
      Sum next[loaded_at_once];
      load_addends(next, values, first, column, columns);
      for (unsigned i = 0; i < loaded_at_once; ++i) sum = sum + next[i];
    }
    return sum;
  }
};

// By pairs, pairs of pairs and so on: those of what is loaded at once, then held[l] is a sum of 2^l
// of these that waits for its neighbour.
template <class Sum>
struct Pairwise {
  static constexpr unsigned most_levels = 12;
  template <class Values>
  __host__ __device__ Sum operator()(const Values& values, unsigned n, std::size_t column,
                                     std::size_t columns) const {
    Sum held[most_levels] = {};
    Sum sum = Sum(0.0f);
    for (unsigned batch = 0; batch < n / loaded_at_once; ++batch) {
      Sum next[loaded_at_once];
      load_addends(next, values, batch * loaded_at_once, column, columns);
      for (unsigned half = loaded_at_once / 2; half > 0; half /= 2) {
        for (unsigned i = 0; i < half; ++i) next[i] = next[2 * i] + next[2 * i + 1];
      }
      sum = next[0];
      bool waits = false;
      for (unsigned level = 0; level < most_levels; ++level) {
        if (waits) continue;
        if ((batch >> level) % 2 == 1) {
          sum = held[level] + sum;
        } else {
          held[level] = sum;
          waits = true;
        }
      }
    }
    return sum;
  }
};

template <class Order>
__global__ void sum_columns(const float* in, float* out, unsigned n, std::size_t columns) {
  const std::size_t column = blockIdx.x * std::size_t{sum_threads} + threadIdx.x;
  if (column < columns) out[column] = static_cast<float>(Order{}(in, n, column, columns));
}

// A column's sum, without the memory.
template <class Order>
struct ExpectedSum {
  struct Generated {
    Addends addends;
    __host__ __device__ float operator[](std::size_t i) const { return addends(i); }
  } values;
  unsigned n;
  std::size_t columns;
  __host__ __device__ float operator()(std::size_t column) const {
    return static_cast<float>(Order{}(values, n, column, columns));
  }
};

// --- casts ---

// Eight numbers per thread, each times `scale`.
template <class To>
__global__ void cast(const float* in, To* out, float scale, std::size_t n) {
  const std::size_t me = blockIdx.x * std::size_t{cast_threads} + threadIdx.x;
  if (me * cast_each >= n) return;
  constexpr unsigned at_once = Pack<float>::size;
  static_assert(Pack<To>::size == cast_each);
  float numbers[cast_each];
#pragma unroll
  for (unsigned i = 0; i < cast_each / at_once; ++i) {
    float four[at_once];
    load_pack(in, me * cast_each / at_once + i).unpack(four);
#pragma unroll
    for (unsigned j = 0; j < at_once; ++j) numbers[i * at_once + j] = four[j] * scale;
  }
  store_pack(out, me, Pack<To>::of(numbers));
}

template <class To>
struct ExpectedCast {
  Gradients gradients;
  float scale;
  __host__ __device__ To operator()(std::size_t i) const {
    return static_cast<To>(gradients(i) * scale);
  }
};

}  // namespace precision
