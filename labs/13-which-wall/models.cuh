// The two models of lab 13: the kernels that its steps queue, and what these must compute.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>

#include "harness/contents/random.hpp"
#include "kernels/common/paced_work.cuh"
#include "labs/13-which-wall/given.cuh"

namespace which_wall {

using gpubench::Generator;

inline constexpr unsigned tensor_words = 32, words = tensors * tensor_words;  // of the small one
inline constexpr unsigned small_rounds = 512, wide_rounds = 128;  // of a product's chains
inline constexpr unsigned elementwise_threads = 256;

// --- the small model ---

// A chain all but forgets where it began, so the gradient adds that.
__host__ __device__ inline float small_gradient(float weight, float sample) {
  return (weight - sample) + (paced_work::after(weight, small_rounds) - 1);
}

static __global__ void small_pass(float* weights, float* gradient, Generator<float> initial,
                                  bool first, const float* batch, float* loss) {
  const unsigned i = blockIdx.x * tensor_words + threadIdx.x;
  const float weight = first ? initial(i) : weights[i];
  if (first) weights[i] = weight;  // every run begins with the same weights
  gradient[i] = small_gradient(weight, batch == nullptr ? 0 : batch[i]);
  if (i == 0 && loss != nullptr) *loss = gradient[i];
}

static __global__ void small_update(float* weights, const float* gradient) {
  const unsigned i = blockIdx.x * tensor_words + threadIdx.x;
  weights[i] = fmaf(-learning_rate, gradient[i], weights[i]);
}

// What the loader makes: number i of a batch.
struct Batch {
  unsigned number;
  __host__ __device__ float operator()(std::size_t i) const {
    return Generator<float>{number + 1u}(i);
  }
};

// The weight of element i after so many steps, of batches or of none.
struct SmallWeight {
  Generator<float> initial;
  unsigned steps;
  bool has_batches;
  __host__ __device__ float operator()(std::size_t i) const {
    float weight = initial(i);
    for (unsigned s = 0; s < steps; ++s) {
      weight = fmaf(-learning_rate, small_gradient(weight, has_batches ? Batch{s}(i) : 0), weight);
    }
    return weight;
  }
};
struct SmallLoss {
  Generator<float> initial;
  __host__ __device__ float operator()(std::size_t step) const {
    const SmallWeight weight{initial, static_cast<unsigned>(step), false};
    return small_gradient(weight(0), 0);
  }
};

// --- the model with one large tensor ---

struct Wide {
  float *weight, *gradient, *exp_avg, *exp_avg_sq, *scratch;
  unsigned n;
};

static __global__ void wide_product(const float* in, float* out) {
  out[threadIdx.x] = paced_work::after(in[threadIdx.x], wide_rounds);
}

// What the weights are to become by a step's gradient: another for each, so that no kernel knows
// the next one.
struct Target {
  Generator<float> first;
  __host__ __device__ Generator<float> of_step(unsigned step) const {
    return {first.seed + 0x9e3779b9u * step};
  }
};

// The gradient at a distance u from the target, of a loss with two wells: up to three distances
// have the same one, so from the gradient at one weight nobody can tell that at another.
template <class T>
__host__ __device__ T wide_slope(T u) {
  return u * (u * u - 1);
}

static __global__ void wide_gradient(Wide model, Generator<float> initial, Generator<float> target,
                                     bool first) {
  const unsigned pack = blockIdx.x * elementwise_threads + threadIdx.x, i = 4 * pack;
  if (i >= model.n) return;
  const auto at = [&](float* array) -> float4& { return reinterpret_cast<float4*>(array)[pack]; };
  const auto four = [&](const Generator<float>& of) {
    return make_float4(of(i), of(i + 1), of(i + 2), of(i + 3));
  };
  const float4 w = first ? four(initial) : at(model.weight), t = four(target);
  at(model.gradient) = make_float4(wide_slope(w.x - t.x), wide_slope(w.y - t.y),
                                   wide_slope(w.z - t.z), wide_slope(w.w - t.w));
  if (!first) return;
  // Every run begins alike: a solution cannot know the one whose results are checked.
  at(model.weight) = w;
  at(model.exp_avg) = at(model.exp_avg_sq) = at(model.scratch) = make_float4(0, 0, 0, 0);
}

__device__ inline float of_operation(Operation operation, float a, float b) {
  switch (operation) {
    case Operation::decay:
      return a * decay_factor;
    case Operation::average:
      return fmaf(beta1, a, (1 - beta1) * b);
    case Operation::square:
      return a * a;
    case Operation::average_squares:
      return fmaf(beta2, a, (1 - beta2) * b);
    case Operation::root:
      return sqrtf(a);
    default:
      return a / (b + epsilon);
  }
}

static __global__ void elementwise(Operation operation, float4* to, const float4* a,
                                   const float4* b, unsigned packs) {
  const unsigned i = blockIdx.x * elementwise_threads + threadIdx.x;
  if (i >= packs) return;
  const float4 x = a[i], y = b == nullptr ? x : b[i];
  to[i] = make_float4(of_operation(operation, x.x, y.x), of_operation(operation, x.y, y.y),
                      of_operation(operation, x.z, y.z), of_operation(operation, x.w, y.w));
}

// What the optimizer's formulas come to, in fp64.
enum class State { weight, exp_avg, exp_avg_sq };
struct WideState {
  Generator<float> initial;
  Target target;
  unsigned steps;
  State which;
  __host__ __device__ float operator()(std::size_t i) const {
    double weight = initial(i), exp_avg = 0, exp_avg_sq = 0;
    for (unsigned s = 0; s < steps; ++s) {
      const double gradient = wide_slope(weight - target.of_step(s)(i));
      exp_avg += 0.1 * (gradient - exp_avg);
      exp_avg_sq += 0.01 * (gradient * gradient - exp_avg_sq);
      weight = 0.9995 * weight - 0.01 * exp_avg / (std::sqrt(exp_avg_sq) + 1e-3);
    }
    return static_cast<float>(which == State::weight    ? weight
                              : which == State::exp_avg ? exp_avg
                                                        : exp_avg_sq);
  }
};

}  // namespace which_wall
