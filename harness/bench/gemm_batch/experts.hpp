// The experts of a mixture: as separate products, as one batch, and in one launch of our own.
#pragma once

#include <cstddef>
#include <map>

#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_batch/mixture.hpp"
#include "harness/bench/gemm_batch/row.hpp"
#include "harness/bench/gemm_row.hpp"
#include "kernels/gemm_batch.cuh"

namespace gemm_batch {

// Around the ridge what is loaded and what is multiplied overlap only in part.
inline constexpr double mixture_tolerance = 0.4;
// Nothing overlaps at the end of one product and the beginning of the next.
inline constexpr double separate_tolerance = 0.3;

inline double rounded_up(unsigned tokens, unsigned tile) {
  return (tokens + tile - 1) / tile * static_cast<double>(tile);
}

// `moved_bytes`: 0 where the device tells. `multiplied`: rows of X, with those that only pad; 0
// where nobody says.
template <class Queue>
void run_mixture(gpubench::Bench& bench, const Mixture& mixture, const Amount& amount,
                 double moved_bytes, double multiplied, const Queue& queue) {
  const double tolerance = amount.launches > 1 ? separate_tolerance : mixture_tolerance;
  gpubench::Work work = work_of(bench, amount, tolerance);
  work.moved_bytes = moved_bytes;
  bench.work(work);
  bench.run(queue);
  note_tokens(bench, amount.tokens);
  if (multiplied > 0) bench.counter("padding_fraction", mixture.padding_fraction(multiplied));
}

// A product of its own for each expert.
class SeparateProducts {
 public:
  SeparateProducts(const gpubench::Bench& bench, const Experts& experts) {
    for (unsigned expert = 0; expert < experts.split.experts; ++expert) {
      const unsigned tokens = experts.split.tokens_of(expert);
      if (gemms_.contains(tokens)) continue;
      gemms_.emplace(tokens, gpubench::gemm_of(bench, experts.shape(tokens)));
    }
  }

  void queue(cudaStream_t s, const Experts& experts) const {
    for (unsigned expert = 0; expert < experts.split.experts; ++expert) {
      gemms_.at(experts.split.tokens_of(expert))
          .queue(s, experts.x_of(expert), experts.w_of(expert), experts.y_of(expert));
    }
  }

  // A second one adds up parts of sums.
  unsigned launches(const Split& split) const {
    unsigned launches = 0;
    for (unsigned expert = 0; expert < split.experts; ++expert) {
      launches += choice(split.tokens_of(expert)).split_k > 1 ? 2u : 1u;
    }
    return launches;
  }
  // Rows of X up to whole tiles; 0 where the library does not say how large they are.
  double multiplied(const Split& split) const {
    double padded = 0;
    for (unsigned expert = 0; expert < split.experts; ++expert) {
      const unsigned tokens = split.tokens_of(expert), tile = choice(tokens).tile_m;
      if (tile == 0) return 0;
      padded += rounded_up(tokens, tile);
    }
    return padded;
  }

 private:
  const gpubench::GemmChoice& choice(unsigned tokens) const { return gemms_.at(tokens).choice(); }

  std::map<unsigned, gpubench::Gemm> gemms_;  // by number of tokens
};

inline void separate_products(gpubench::Bench& bench) {
  const Mixture mixture(bench, false);
  const Split& split = mixture.layout().split;
  const SeparateProducts products(bench, mixture.layout());
  mixture.verify_library<SeparateProducts>(bench);
  Amount amount = mixture.amount("tensor_bf16");
  amount.launches = products.launches(split);
  run_mixture(bench, mixture, amount, amount.bytes, products.multiplied(split),
              [&](cudaStream_t s) { products.queue(s, mixture.experts()); });
}

// One call for all.
class BatchedProduct {
 public:
  BatchedProduct(const gpubench::Bench& bench, const Experts& experts)
      : gemm_(gpubench::gemm_of(bench, experts.shape(experts.split.m), experts.batch())) {}

  const gpubench::GemmChoice& choice() const { return gemm_.choice(); }
  void queue(cudaStream_t s, const Experts& experts) const {
    gemm_.queue(s, experts.x, experts.w, experts.y);
  }

 private:
  gpubench::Gemm gemm_;
};

inline void batched_product(gpubench::Bench& bench) {
  const Mixture mixture(bench, true);
  const Split& split = mixture.layout().split;
  const BatchedProduct product(bench, mixture.layout());
  note(bench, product.choice());
  mixture.verify_library<BatchedProduct>(bench);
  const Amount amount = mixture.amount("tensor_bf16");
  const unsigned tile = product.choice().tile_m;
  run_mixture(bench, mixture, amount, amount.bytes,
              tile > 0 ? split.experts * rounded_up(split.m, tile) : 0,
              [&](cudaStream_t s) { product.queue(s, mixture.experts()); });
}

inline void one_launch(gpubench::Bench& bench) {
  constexpr unsigned columns = 4;
  const Mixture mixture(bench, false);
  const Split& split = mixture.layout().split;
  const Layer& layer = mixture.layout().layer;
  const auto first_token = bench.input<unsigned>(split.experts + 1, split);
  bench.verify(mixture.y(), mixture.expected(), mixture.tolerance());
  Amount amount = mixture.amount(Bf16Weights::unit);
  double multiplied = 0;
  for (unsigned expert = 0; expert < split.experts; ++expert) {
    const double padded = rounded_up(split.tokens_of(expert), columns);
    multiplied += padded;
    amount.l1_bytes += padded / columns * l1_bytes(layer, bytes_of<Bf16Weights>, columns);
  }
  run_mixture(bench, mixture, amount, 0, multiplied, [&](cudaStream_t s) {
    const Experts experts = mixture.experts();
    gpubench::launch(grouped<Bf16Weights, columns>, dim3(split.experts, row_blocks(layer.n)),
                     threads, 0, s, Bf16Weights{experts.w}, experts.x, experts.y,
                     first_token.data(), layer.n, layer.k);
  });
}

}  // namespace gemm_batch
