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
inline constexpr unsigned map_threads = 256;

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
  weights[i] = fmaf(-rate, gradient[i], weights[i]);
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
      weight = fmaf(-rate, small_gradient(weight, has_batches ? Batch{s}(i) : 0), weight);
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
  float *weight, *gradient, *mean, *power, *scratch;
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

static __global__ void wide_gradient(Wide model, Generator<float> initial, Generator<float> target,
                                     bool first) {
  const unsigned pack = blockIdx.x * map_threads + threadIdx.x, i = 4 * pack;
  if (i >= model.n) return;
  const auto at = [&](float* array) -> float4& { return reinterpret_cast<float4*>(array)[pack]; };
  const auto four = [&](const Generator<float>& of) {
    return make_float4(of(i), of(i + 1), of(i + 2), of(i + 3));
  };
  const float4 w = first ? four(initial) : at(model.weight), t = four(target);
  at(model.gradient) = make_float4(w.x - t.x, w.y - t.y, w.z - t.z, w.w - t.w);
  if (!first) return;
  // Every run begins alike: a solution cannot know the one whose results are checked.
  at(model.weight) = w;
  at(model.mean) = at(model.power) = at(model.scratch) = make_float4(0, 0, 0, 0);
}

__device__ inline float of_pass(Pass pass, float a, float b) {
  switch (pass) {
    case Pass::decay:
      return a * kept;
    case Pass::average:
      return fmaf(mean_kept, a, (1 - mean_kept) * b);
    case Pass::square:
      return a * a;
    case Pass::average_squares:
      return fmaf(power_kept, a, (1 - power_kept) * b);
    case Pass::root:
      return sqrtf(a);
    default:
      return a / (b + smallest);
  }
}

static __global__ void map(Pass pass, float4* to, const float4* a, const float4* b,
                           unsigned packs) {
  const unsigned i = blockIdx.x * map_threads + threadIdx.x;
  if (i >= packs) return;
  const float4 x = a[i], y = b == nullptr ? x : b[i];
  to[i] = make_float4(of_pass(pass, x.x, y.x), of_pass(pass, x.y, y.y), of_pass(pass, x.z, y.z),
                      of_pass(pass, x.w, y.w));
}

// What the optimizer's formulas come to, in fp64.
enum class Kept { weight, mean, power };
struct WideState {
  Generator<float> initial;
  Target target;
  unsigned steps;
  Kept which;
  __host__ __device__ float operator()(std::size_t i) const {
    double weight = initial(i), mean = 0, power = 0;
    for (unsigned s = 0; s < steps; ++s) {
      const double gradient = weight - target.of_step(s)(i);
      mean += 0.1 * (gradient - mean);
      power += 0.01 * (gradient * gradient - power);
      weight = 0.9995 * weight - 0.01 * mean / (std::sqrt(power) + 1e-3);
    }
    return static_cast<float>(which == Kept::weight ? weight : which == Kept::mean ? mean : power);
  }
};

}  // namespace which_wall
