// fusion: bias, GELU, dropout and a residual, in one kernel or in four.
//
// There is one kernel, `map`: it loads 16 bytes, applies its steps to them in registers, and stores
// them. Given all four steps it is the fused kernel; given one it is a link of the chain, which
// leaves its result in memory for the next. Arithmetic is in fp32 throughout, so the chain differs
// from the fused kernel only by what is rounded to the dtype in between.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/pack.cuh"
#include "kernels/common/philox.cuh"

namespace fusion {

inline constexpr unsigned threads = 256;
inline constexpr unsigned columns = 4096;  // of a row, to each of which the same bias is added

// --- dropout ---

inline constexpr std::uint64_t dropout_seed = 20260101;
inline constexpr unsigned dropped_of_65536 = 6554;  // as near to a tenth as 16 bits come
inline constexpr float kept_scale = 65536.0f / (65536.0f - dropped_of_65536);

// Eight elements share 128 random bits, 16 each.
__host__ __device__ inline bool is_kept(const philox::Words& words, std::size_t element) {
  const auto k = static_cast<unsigned>(element % 8);
  return (words.of[k / 2] >> (k % 2 * 16) & 0xffffu) >= dropped_of_65536;
}

// --- steps: each works on the numbers of pack `at` ---

template <class T>
struct AddBias {
  const T* bias;
  std::size_t packs = columns / Pack<T>::size;  // of the bias
  __device__ void operator()(float (&x)[Pack<T>::size], unsigned at) const {
    float b[Pack<T>::size];
    load_pack(bias, at % static_cast<unsigned>(packs)).unpack(b);
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) x[k] += b[k];
  }
};

inline constexpr float gelu_inner = 0.7978845608f, gelu_cubic = 0.044715f;  // sqrt(2 / pi)

// The form with tanh (Hendrycks and Gimpel, 2016), as GPT-2 has it.
template <class T>
struct Gelu {
  __device__ void operator()(float (&x)[Pack<T>::size], unsigned) const {
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) {
      const float inner = gelu_inner * x[k] * fmaf(gelu_cubic * x[k], x[k], 1.0f);
      const float half = 0.5f * x[k];
      x[k] = fmaf(half, tanhf(inner), half);
    }
  }
};

template <class T>
struct Dropout {
  std::uint64_t seed = dropout_seed;
  __device__ void operator()(float (&x)[Pack<T>::size], unsigned at) const {
    const std::size_t first = std::size_t{at} * Pack<T>::size;
    const philox::Words words = philox::at(first / 8, seed);
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) {
      x[k] = is_kept(words, first + k) ? x[k] * kept_scale : 0.0f;
    }
  }
};

template <class T>
struct Add {
  const T* other;
  __device__ void operator()(float (&x)[Pack<T>::size], unsigned at) const {
    float o[Pack<T>::size];
    load_pack(other, at).unpack(o);
#pragma unroll
    for (unsigned k = 0; k < Pack<T>::size; ++k) x[k] += o[k];
  }
};

// `packs` packs of `in`, through the steps in order, into `out`, which may be `in`.
template <class T, class... Step>
__global__ void map(const T* in, T* out, unsigned packs, Step... step) {
  const unsigned at = blockIdx.x * threads + threadIdx.x;
  if (at >= packs) return;
  float x[Pack<T>::size];
  load_pack(in, at).unpack(x);
  (step(x, at), ...);
  store_pack(out, at, Pack<T>::of(x));
}

// --- what they must compute ---

// In fp64, with the library's tanh. `chained`: every step is rounded to the dtype; the fused kernel
// keeps fp32 between them, whose roundings are within the tolerance.
template <class Source>
struct ExpectedChain {
  Source in, bias, residual;
  std::size_t columns;
  bool chained;
  __host__ __device__ double operator()(std::size_t i) const {
    double x = round(double{static_cast<float>(in(i))} + static_cast<float>(bias(i % columns)));
    const double inner = 0.79788456080286536 * (x + 0.044715 * x * x * x);
    x = round(0.5 * x * (1 + tanh(inner)));
    x = is_kept(philox::at(i / 8, dropout_seed), i) ? round(x * kept_scale) : 0;
    return x + static_cast<float>(residual(i));
  }
  __host__ __device__ double round(double x) const {
    const auto fp32 = static_cast<float>(x);
    return chained ? static_cast<float>(static_cast<decltype(in(0))>(fp32)) : fp32;
  }
};

template <class Source>
struct ExpectedSum {
  Source a, b;
  __host__ __device__ float operator()(std::size_t i) const {
    return static_cast<float>(a(i)) + static_cast<float>(b(i));
  }
};

// --- what theory says they cost ---

// Arrays that go through memory. The bias is too small to count.
inline constexpr unsigned arrays_of_fused = 3;  // in, residual, out; of an addition as well

struct Costs {
  double dram, l2;  // [B/s]
  double kernel;    // seconds that a kernel takes beside its bytes
};

// Seconds of a kernel that moves so many bytes through L2, some of them from or to DRAM.
constexpr double seconds(const Costs& c, double bytes, double of_dram) {
  const double by_dram = of_dram / c.dram, by_l2 = bytes / c.l2;
  return c.kernel + (by_dram > by_l2 ? by_dram : by_l2);
}

// The four kernels on arrays of `size` bytes. `stays`: what is between two of them is still in L2,
// and only its first writing goes to DRAM, sooner or later.
constexpr double chain_seconds(const Costs& c, double size, bool stays) {
  return seconds(c, 2 * size, 2 * size) + 2 * seconds(c, 2 * size, stays ? 0 : 2 * size) +
         seconds(c, 3 * size, stays ? 2 * size : 3 * size);
}

// Useful bytes per second of the chain, or of one kernel.
constexpr double useful_rate(const Costs& c, double size, bool chained, bool stays) {
  const double useful = arrays_of_fused * size;
  return useful / (chained ? chain_seconds(c, size, stays) : seconds(c, useful, useful));
}

}  // namespace fusion
