// The types of a step: what tensors hold (T), and what sums, weights and their states are kept in.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "kernels/common/pack.cuh"

namespace training_step {

// Double for tensors of doubles, by which gradients are checked; else float.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

inline constexpr unsigned threads = 256;  // of a point-wise kernel's block, a pack each

__host__ __device__ inline float exponential(float x) { return expf(x); }
__host__ __device__ inline double exponential(double x) { return exp(x); }
__host__ __device__ inline float logarithm(float x) { return logf(x); }
__host__ __device__ inline double logarithm(double x) { return log(x); }
__host__ __device__ inline float hyperbolic_tangent(float x) { return tanhf(x); }
__host__ __device__ inline double hyperbolic_tangent(double x) { return tanh(x); }
__host__ __device__ inline float square_root(float x) { return sqrtf(x); }
__host__ __device__ inline double square_root(double x) { return sqrt(x); }

}  // namespace training_step
