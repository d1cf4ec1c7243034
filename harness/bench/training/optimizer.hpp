// The end of a training step: clips the gradients, if asked to, and takes AdamW's step. Where the
// optimizer's states are sharded over several GPUs, it steps this GPU's share of the weights.
#pragma once

#include <algorithm>
#include <cstddef>

#include "harness/bench/training/memory.hpp"
#include "harness/bench/training/queue.hpp"

namespace training_step {

template <class T, class Products>
class Optimizer {
 public:
  using Number = Wide<T>;

  Optimizer(const Shape& s, const Switches& switches, Weights<T>& weights,
            Queue<T, Products>& queue)
      : s_(s), places_{s}, switches_(switches), weights_(weights), queue_(queue) {}

  void update() {
    if (switches_.clip_at > 0) clip_gradients();
    queue_.kernel(0, adamw_begin<Number>, 1, 1, weights_.powers.data());
    if (switches_.fused_adamw || switches_.shards > 1) {
      step_shard(0, s_.product_weights());
    } else {  // tensor by tensor, as a loop over them does
      step_shard(places_.output(), s_.table());
      for (unsigned l = s_.layers; l-- > 0;) {
        step_shard(places_.mlp_out(l), places_.square(4));
        step_shard(places_.mlp_in(l), places_.square(4));
        step_shard(places_.projection(l), places_.square(1));
        step_shard(places_.qkv(l), places_.square(3));
      }
    }
    step_shard(places_.embedding(), s_.table());
  }

  // What an update begins with: afterwards the norm of all gradients is at most the limit.
  void clip_gradients() {
    Number* const sums = weights_.square_sums.data();
    unsigned count = 0;
    each_gradient([&]<class Gradient>(gpubench::DeviceBuffer<Gradient>& gradients) {
      const std::size_t packs = gradients.size() / Pack<Gradient>::size;
      const unsigned blocks = std::min(most_square_sums, blocks_of(packs, packs_a_thread));
      queue_.kernel(static_cast<double>(gradients.bytes()), sum_squares<Gradient, Number>, blocks,
                    threads, gradients.data(), packs, sums + count);
      count += blocks;
    });
    queue_.kernel(0, find_clip<Number>, 1, threads, sums, count, share(),
                  static_cast<Number>(switches_.clip_at), weights_.clip.data());
    each_gradient([&]<class Gradient>(gpubench::DeviceBuffer<Gradient>& gradients) {
      const std::size_t packs = gradients.size() / Pack<Gradient>::size;
      queue_.kernel(2 * static_cast<double>(gradients.bytes()), clip<Gradient, Number>,
                    blocks_of(packs, packs_a_thread), threads, gradients.data(), packs,
                    weights_.clip.data());
    });
  }

 private:
  static unsigned blocks_of(std::size_t n, std::size_t a_thread = 1) {
    return static_cast<unsigned>((n + a_thread * threads - 1) / (a_thread * threads));
  }
  Number share() const { return static_cast<Number>(1.0 / switches_.parts); }

  // f(gradients): those of the products' weights, then those of the embedding's table.
  template <class F>
  void each_gradient(F f) {
    switches_.parts > 1 ? f(weights_.sum) : f(weights_.gradient);
    f(weights_.table_gradient);
  }
  // Steps this GPU's share of the weights [begin, begin + all).
  void step_shard(std::size_t begin, std::size_t all) {
    const std::size_t n = all / switches_.shards, skipped = switches_.shard * n;
    const std::size_t first = begin + skipped;          // among all weights
    const std::size_t kept = begin / switches_.shards;  // among this GPU's states
    if (begin == places_.embedding()) {
      step_by(weights_.table_gradient.data() + skipped, first, kept, n);
    } else if (switches_.parts > 1) {
      step_by(weights_.sum.data() + first, first, kept, n);
    } else {
      step_by(weights_.gradient.data() + first, first, kept, n);
    }
  }
  template <class Gradient>
  void step_by(const Gradient* gradients, std::size_t first, std::size_t kept, std::size_t n) {
    auto& w = weights_;
    const Update<Number, Gradient> update{gradients,
                                          w.master.data() + (w.has_copy ? kept : first),
                                          w.m.data() + kept,
                                          w.v.data() + kept,
                                          w.powers.data(),
                                          share(),
                                          n};
    T* const copy = w.has_copy ? w.data() + first : nullptr;
    const unsigned blocks = blocks_of(n);
    const double of_gradient = sizeof(Gradient), wide = sizeof(Number),
                 of_copy = w.has_copy ? sizeof(T) : 0, count = static_cast<double>(n);
    if (switches_.fused_adamw) {
      queue_.kernel(count * (of_gradient + 6 * wide + of_copy), adamw<T, Number, Gradient>, blocks,
                    threads, update, copy);
      return;
    }
    queue_.kernel(count * 2 * wide, adamw_decay<Number, Gradient>, blocks, threads, update);
    queue_.kernel(count * (of_gradient + 2 * wide), adamw_moment<Number, Gradient>, blocks, threads,
                  update);
    queue_.kernel(count * (of_gradient + 2 * wide), adamw_square<Number, Gradient>, blocks, threads,
                  update);
    queue_.kernel(count * (4 * wide + of_copy), adamw_step<T, Number, Gradient>, blocks, threads,
                  update, copy);
  }

  Shape s_;
  Places places_;
  Switches switches_;
  Weights<T>& weights_;
  Queue<T, Products>& queue_;
};

}  // namespace training_step
