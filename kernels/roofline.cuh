// roofline: the same bytes with more and more arithmetic.
//
// A thread loads eight elements, 16 bytes per load, all of them in flight at once; each element
// goes through a chain of multiply-adds of its own, whose end is stored. `eighths` is FMAs per
// element times eight, which is FMAs per round of a thread: below eight, only that many of its
// elements get one, and the rest are copied. In fp16x2 an element is a pair of halves, of which one
// FMA makes two.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/common/fma_step.cuh"

namespace roofline {

inline constexpr unsigned threads = 256;
inline constexpr unsigned elements_a_thread = 8;
inline constexpr std::size_t elements_a_block = threads * elements_a_thread;

__device__ inline float step(float x) { return fma_step(x); }
__device__ inline double step(double x) { return fma_step(x); }
// A pair, as the word that a vector load brings; the constants are fma_step's two, as encoded.
__device__ inline unsigned step(unsigned pair) {
  const __half2 factor = __half2half2(__ushort_as_half(0xBBFE));
  const __half2 summand = __half2half2(__ushort_as_half(0x3800));
  const __half2 next = __hfma2(*reinterpret_cast<const __half2*>(&pair), factor, summand);
  return *reinterpret_cast<const unsigned*>(&next);
}

// One FMA on each of the first `chosen` elements of a vector.
template <class Vector>
__device__ inline void step_some(Vector& v, unsigned chosen) {
  if (chosen > 0) v.x = step(v.x);
  if (chosen > 1) v.y = step(v.y);
  if constexpr (sizeof(Vector) > 2 * sizeof(v.x)) {
    if (chosen > 2) v.z = step(v.z);
    if (chosen > 3) v.w = step(v.w);
  }
}
template <class Vector>
__device__ inline void step_all(Vector& v) {
  v.x = step(v.x);
  v.y = step(v.y);
  if constexpr (sizeof(Vector) > 2 * sizeof(v.x)) {
    v.z = step(v.z);
    v.w = step(v.w);
  }
}

template <class T, class Vector>
__global__ void chains(const T* in, T* out, unsigned eighths) {
  constexpr unsigned lanes = sizeof(Vector) / sizeof(T);
  constexpr unsigned vectors = elements_a_thread / lanes;
  const std::size_t first = blockIdx.x * std::size_t{threads * vectors} + threadIdx.x;
  Vector v[vectors];
#pragma unroll
  for (unsigned k = 0; k < vectors; ++k) {
    v[k] = reinterpret_cast<const Vector*>(in)[first + k * threads];
  }
  if (eighths < elements_a_thread) {
#pragma unroll
    for (unsigned k = 0; k < vectors; ++k) {
      step_some(v[k], eighths > k * lanes ? eighths - k * lanes : 0);
    }
  }
  const unsigned rounds = eighths / elements_a_thread;
#pragma unroll 8
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned k = 0; k < vectors; ++k) step_all(v[k]);
  }
#pragma unroll
  for (unsigned k = 0; k < vectors; ++k) {
    reinterpret_cast<Vector*>(out)[first + k * threads] = v[k];
  }
}

// --- what it must compute ---

// The same multiply-adds one number at a time. An FMA rounds once, so the bits are the same.
__host__ __device__ inline float step_alone(float x) { return fma_step(x); }
__host__ __device__ inline double step_alone(double x) { return fma_step(x); }
// Exact in double (x is a multiple of 2^-24 below 2, the factor of 2^-10: 35 bits), then rounded.
__host__ __device__ inline __half step_alone(__half x) {
  return __double2half(fma_step(static_cast<double>(__half2float(x))));
}

// `of_element`: how many of the input's numbers make an element; `lanes`: elements a vector.
template <class Source>
struct ExpectedChain {
  Source in;
  unsigned of_element, lanes, eighths;
  __host__ __device__ auto operator()(std::size_t i) const {
    auto x = in(i);
    const auto in_block = static_cast<unsigned>(i / of_element % elements_a_block);
    const unsigned of_thread = in_block / lanes / threads * lanes + in_block % lanes;
    const unsigned steps =
        eighths < elements_a_thread ? (of_thread < eighths ? 1 : 0) : eighths / elements_a_thread;
    for (unsigned k = 0; k < steps; ++k) x = step_alone(x);
    return x;
  }
};

}  // namespace roofline
