// The tensors of a step.
#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <type_traits>
#include <vector>

#include "device_fill.hpp"
#include "harness/contents/random.hpp"
#include "harness/cuda/buffer.hpp"
#include "kernels/training_step.cuh"
#include "kernels/training_step/adamw.cuh"
#include "kernels/training_step/clipping.cuh"

namespace training_step {

using gpubench::DeviceBuffer;

// What weights begin with: uniform, with the standard deviation of GPT-2's, 0.02. A shard's are
// those of all weights from `products` on, and, from its own weight `split` on, those from `table`
// on.
template <class T>
struct InitialWeight {
  std::size_t split = 0, products = 0, table = 0;
  __host__ __device__ T operator()(std::size_t i) const {
    const std::size_t at = i < split ? products + i : table + (i - split);
    const auto bits = static_cast<double>(gpubench::random_bits(1, at) >> 40);
    return static_cast<T>((bits / 0x1p23 - 1) * 0.034641016151377546);
  }
};
struct RandomToken {
  unsigned vocabulary;
  std::uint64_t seed;
  __host__ __device__ unsigned operator()(std::size_t i) const {
    return static_cast<unsigned>(gpubench::random_bits(seed, i) % vocabulary);
  }
};
template <class Number>
struct NoPower {
  __host__ __device__ Powers<Number> operator()(std::size_t) const { return {1, 1}; }
};
template <class Number>
struct Zero {
  __host__ __device__ Number operator()(std::size_t) const { return 0; }
};

// All weights in one row, in the order in which a backward pass completes their gradients: those of
// the output layer, of the layers from the last to the first, and the table of the embedding.
struct Places {
  Shape s;
  std::size_t output() const { return 0; }
  std::size_t layer(unsigned l) const { return s.table() + (s.layers - 1 - l) * s.layer_weights(); }
  std::size_t mlp_out(unsigned l) const { return layer(l); }             // [hidden][mlp]
  std::size_t mlp_in(unsigned l) const { return layer(l) + square(4); }  // [mlp][hidden]
  std::size_t projection(unsigned l) const { return layer(l) + square(8); }
  std::size_t qkv(unsigned l) const { return layer(l) + square(9); }  // [3 hidden][hidden]
  std::size_t embedding() const { return s.product_weights(); }
  std::size_t square(std::size_t n) const { return n * s.hidden * s.hidden; }
};

// Weights with their gradients and the optimizer's states: of sharded ones this GPU's shard, in
// which the weights of products come before those of the table. (Weights in full precision are
// among the states if products multiply a copy.) The embedding's gradient is a sum of atomic
// additions, and so in full precision.
template <class T>
struct Weights {
  using Number = Wide<T>;
  static constexpr bool has_copy = !std::is_same_v<T, Number>;

  Weights(const Shape& s, const Switches& switches)
      : master(s.weights() / (has_copy ? switches.shards : 1)),
        m(s.weights() / switches.shards),
        v(m.size()),
        copy(has_copy ? s.weights() : 0),
        gradient(s.product_weights()),
        table_gradient(s.table()),
        sum(switches.parts > 1 ? s.product_weights() : 0),
        powers(1),
        square_sums(switches.clip_at > 0 ? 2 * most_square_sums : 0),
        clip(switches.clip_at > 0 ? 1 : 0) {
    const unsigned shards = static_cast<unsigned>(s.weights() / master.size());
    const std::size_t of_table = s.table() / shards, of_products = master.size() - of_table,
                      shard = shards > 1 ? switches.shard : 0;
    gpubench::fill_random(master.data(), master.size(),
                          InitialWeight<Number>{.split = of_products,
                                                .products = shard * of_products,
                                                .table = s.product_weights() + shard * of_table});
    if (has_copy) gpubench::fill_random(copy.data(), copy.size(), InitialWeight<T>{});
    gpubench::fill_random(m.data(), m.size(), Zero<Number>{});
    gpubench::fill_random(v.data(), v.size(), Zero<Number>{});
    gpubench::fill_random(powers.data(), 1, NoPower<Number>{});
  }
  // What products multiply.
  T* data() const {
    if constexpr (has_copy) {
      return copy.data();
    } else {
      return master.data();
    }
  }
  std::size_t weight_bytes() const { return master.bytes() + copy.bytes(); }
  std::size_t state_bytes() const { return m.bytes() + v.bytes(); }
  std::size_t gradient_bytes() const {
    return gradient.bytes() + table_gradient.bytes() + sum.bytes();
  }

  DeviceBuffer<Number> master, m, v;
  DeviceBuffer<T> copy, gradient;
  DeviceBuffer<Number> table_gradient, sum;
  DeviceBuffer<Powers<Number>> powers;
  DeviceBuffer<Number> square_sums, clip;  // of all gradients, and what they are multiplied by
};

// What a layer's forward pass leaves for its backward pass.
template <class T>
struct LayerActivations {
  LayerActivations(const Shape& s, bool tiled)
      : first_norm(s.tokens() * s.hidden),
        by_head(3 * s.tokens() * s.hidden),
        weights(tiled ? 0 : s.all_heads() * s.seq * s.seq),
        attended(s.tokens() * s.hidden),
        middle(s.tokens() * s.hidden),
        second_norm(s.tokens() * s.hidden),
        before_gelu(s.tokens() * s.mlp()),
        after_gelu(s.tokens() * s.mlp()) {}
  std::size_t bytes() const {
    return first_norm.bytes() + by_head.bytes() + weights.bytes() + attended.bytes() +
           middle.bytes() + second_norm.bytes() + before_gelu.bytes() + after_gelu.bytes();
  }
  DeviceBuffer<T> first_norm, by_head, weights, attended, middle, second_norm, before_gelu,
      after_gelu;
};

template <class T>
struct Activations {
  using Number = Wide<T>;

  Activations(const Shape& s, const Switches& switches)
      : last_norm(s.tokens() * s.hidden),
        logits(s.tokens() * s.vocabulary),
        losses(s.tokens()),
        loss(1),
        rows(3 * s.tokens() * s.hidden),
        heads(s.tokens() * s.hidden),
        d(s.tokens() * s.hidden),
        d_branch(s.tokens() * s.hidden),
        d_wide(s.tokens() * s.mlp()),
        d_heads(3 * s.tokens() * s.hidden),
        d_scores(s.all_heads() * s.seq * s.seq),
        again(switches.tiled ? d_scores.size() : 0) {
    const unsigned kept = switches.checkpointing ? 1 : s.layers;
    for (unsigned l = 0; l < kept; ++l) layers.emplace_back(s, switches.tiled);
    for (unsigned l = 0; l <= s.layers; ++l) between.emplace_back(s.tokens() * s.hidden);
  }
  LayerActivations<T>& layer(unsigned l) { return layers[l % layers.size()]; }
  std::size_t bytes() const {
    std::size_t sum = last_norm.bytes() + logits.bytes() + losses.bytes() + rows.bytes() +
                      heads.bytes() + d.bytes() + d_branch.bytes() + d_wide.bytes() +
                      d_heads.bytes() + d_scores.bytes() + again.bytes();
    for (const auto& one : layers) sum += one.bytes();
    for (const auto& one : between) sum += one.bytes();
    return sum;
  }

  std::vector<LayerActivations<T>> layers;
  std::vector<DeviceBuffer<T>> between;  // the input of each layer, and what the last one makes
  DeviceBuffer<T> last_norm, logits;
  DeviceBuffer<Number> losses, loss;
  // Needed only within a layer: rows of tokens and of heads, and gradients.
  DeviceBuffer<T> rows, heads, d, d_branch, d_wide, d_heads, d_scores, again;
};

}  // namespace training_step
