// AdamW (Loshchilov and Hutter, arXiv 1711.05101): as one kernel, or as the four operations that a
// framework makes of its formula. The weights are kept in full precision; what products multiply is
// a copy of them in the step's type.
#pragma once

#include "kernels/training_step/numbers.cuh"

namespace training_step {

// Powers of both moments' factors by the steps so far: in memory, so that a graph can be
// replayed.
template <class Number>
struct Powers {
  Number first, second;
};

template <class Number>
struct AdamW {
  static constexpr auto rate = static_cast<Number>(1e-3), weight_decay = static_cast<Number>(0.1),
                        first = static_cast<Number>(0.9), second = static_cast<Number>(0.95),
                        epsilon = static_cast<Number>(1e-8);

  __device__ static Number decayed(Number weight) { return weight - rate * weight_decay * weight; }
  __device__ static Number moment(Number m, Number g) { return first * m + (1 - first) * g; }
  __device__ static Number square(Number v, Number g) { return second * v + (1 - second) * g * g; }
  __device__ static Number step(Number weight, Number m, Number v, Powers<Number> powers) {
    return weight -
           rate * (m / (1 - powers.first)) / (square_root(v / (1 - powers.second)) + epsilon);
  }
};

// One thread. Another step begins.
template <class Number>
__global__ void adamw_begin(Powers<Number>* powers) {
  powers->first *= AdamW<Number>::first;
  powers->second *= AdamW<Number>::second;
}

// Updates n weights. The gradients are sums; `share` of one is its mean.
template <class Number, class Gradient>
struct Update {
  const Gradient* gradient;
  Number *weight, *m, *v;
  const Powers<Number>* powers;
  Number share;
  std::size_t n;

  __device__ Number mean(std::size_t i) const { return static_cast<Number>(gradient[i]) * share; }
};

// An element per thread.
__device__ inline std::size_t my_element() {
  return blockIdx.x * std::size_t{threads} + threadIdx.x;
}

template <class T, class Number, class Gradient>
__global__ void adamw(Update<Number, Gradient> u, T* copy) {
  using Rule = AdamW<Number>;
  const std::size_t i = my_element();
  if (i >= u.n) return;
  const Number g = u.mean(i), m = Rule::moment(u.m[i], g), v = Rule::square(u.v[i], g);
  const Number stepped = Rule::step(Rule::decayed(u.weight[i]), m, v, *u.powers);
  u.m[i] = m;
  u.v[i] = v;
  u.weight[i] = stepped;
  if constexpr (!std::is_same_v<T, Number>) copy[i] = static_cast<T>(stepped);
}

template <class Number, class Gradient>
__global__ void adamw_decay(Update<Number, Gradient> u) {
  const std::size_t i = my_element();
  if (i < u.n) u.weight[i] = AdamW<Number>::decayed(u.weight[i]);
}
template <class Number, class Gradient>
__global__ void adamw_moment(Update<Number, Gradient> u) {
  const std::size_t i = my_element();
  if (i < u.n) u.m[i] = AdamW<Number>::moment(u.m[i], u.mean(i));
}
template <class Number, class Gradient>
__global__ void adamw_square(Update<Number, Gradient> u) {
  const std::size_t i = my_element();
  if (i < u.n) u.v[i] = AdamW<Number>::square(u.v[i], u.mean(i));
}
template <class T, class Number, class Gradient>
__global__ void adamw_step(Update<Number, Gradient> u, T* copy) {
  const std::size_t i = my_element();
  if (i >= u.n) return;
  const Number stepped = AdamW<Number>::step(u.weight[i], u.m[i], u.v[i], *u.powers);
  u.weight[i] = stepped;
  if constexpr (!std::is_same_v<T, Number>) copy[i] = static_cast<T>(stepped);
}

}  // namespace training_step
