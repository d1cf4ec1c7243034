// roofline: the same bytes with more and more arithmetic.
//
// A thread loads eight elements, 16 bytes a load, all of them in flight at once; each element is a
// chain of multiply-adds of its own, and its end is stored. `eighths` is the number of FMAs an
// element times eight, which is the number of FMAs a round of a thread: below eight only that many
// of its elements get one, and the rest are copied.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

namespace roofline {

inline constexpr unsigned threads = 256;
inline constexpr unsigned elements_a_thread = 8;
inline constexpr std::size_t elements_a_block = threads * elements_a_thread;

// A step turns values over without letting them grow, or forget where they began.
__host__ __device__ inline float step(float x) { return fmaf(x, -0.9990234375f, 0.5f); }
__host__ __device__ inline double step(double x) { return fma(x, -0.9990234375, 0.5); }

// Of a vector, one FMA on each of the first `chosen` elements.
__device__ inline void step_some(float4& v, unsigned chosen) {
  if (chosen > 0) v.x = step(v.x);
  if (chosen > 1) v.y = step(v.y);
  if (chosen > 2) v.z = step(v.z);
  if (chosen > 3) v.w = step(v.w);
}
__device__ inline void step_some(double2& v, unsigned chosen) {
  if (chosen > 0) v.x = step(v.x);
  if (chosen > 1) v.y = step(v.y);
}
__device__ inline void step_all(float4& v) {
  v.x = step(v.x);
  v.y = step(v.y);
  v.z = step(v.z);
  v.w = step(v.w);
}
__device__ inline void step_all(double2& v) {
  v.x = step(v.x);
  v.y = step(v.y);
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

// --- what it must compute
// -------------------------------------------------------------------------

// The same multiply-adds one element at a time. An FMA rounds once, so the bits are the same.
template <class Source>
struct ExpectedChain {
  Source in;
  unsigned lanes, eighths;
  __host__ __device__ auto operator()(std::size_t i) const {
    auto x = in(i);
    const auto vector = static_cast<unsigned>(i % elements_a_block) / lanes;
    const unsigned of_thread = vector / threads * lanes + static_cast<unsigned>(i % lanes);
    const unsigned steps =
        eighths < elements_a_thread ? (of_thread < eighths ? 1 : 0) : eighths / elements_a_thread;
    for (unsigned k = 0; k < steps; ++k) x = step(x);
    return x;
  }
};

}  // namespace roofline
