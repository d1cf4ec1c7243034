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

// A product of its own for each expert has parts of sums to add, beside its launch.
inline constexpr double mixture_tolerance = 0.4;

// `moved_bytes`: 0 where the device tells.
template <class Queue>
void run_mixture(gpubench::Bench& bench, const Amount& amount, double moved_bytes,
                 const Queue& queue) {
  gpubench::Work work = work_of(bench, amount, mixture_tolerance);
  work.moved_bytes = moved_bytes;
  bench.work(work);
  bench.run(queue);
  note_tokens(bench, amount.tokens);
}

// A launch for each expert.
inline void separate_products(gpubench::Bench& bench) {
  const Mixture mixture(bench, false);
  const Split split = mixture.laid_out();
  std::map<unsigned, gpubench::Gemm> gemms;  // by number of tokens
  for (unsigned expert = 0; expert < split.experts; ++expert) {
    const unsigned tokens = split.tokens_of(expert);
    if (!gemms.contains(tokens)) gemms.emplace(tokens, gemm_of(bench, mixture.shape(tokens)));
  }
  mixture.verify_library(bench);
  Amount amount = mixture.amount("tensor_bf16");
  amount.launches = split.experts;
  run_mixture(bench, amount, amount.bytes, [&](cudaStream_t s) {
    for (unsigned expert = 0; expert < split.experts; ++expert) {
      gemms.at(split.tokens_of(expert))
          .queue(s, mixture.x(expert), mixture.w(expert), mixture.y(expert));
    }
  });
}

inline void batched_product(gpubench::Bench& bench) {
  const Mixture mixture(bench, true);
  const Layer layer = mixture.layer();
  const unsigned tokens = mixture.laid_out().m;
  const gpubench::GemmBatch batch{mixture.laid_out().experts, std::size_t{tokens} * layer.k,
                                  std::size_t{layer.n} * layer.k, std::size_t{tokens} * layer.n};
  const gpubench::Gemm gemm = gemm_of(bench, mixture.shape(tokens), batch);
  note(bench, gemm.choice());
  mixture.verify_library(bench);
  const Amount amount = mixture.amount("tensor_bf16");
  run_mixture(bench, amount, amount.bytes,
              [&](cudaStream_t s) { gemm.queue(s, mixture.x(0), mixture.w(0), mixture.y(0)); });
}

inline void one_launch(gpubench::Bench& bench) {
  constexpr unsigned columns = 4;
  const Mixture mixture(bench, false);
  const Split split = mixture.laid_out();
  const Layer layer = mixture.layer();
  const auto first_token = bench.input<unsigned>(split.experts + 1, split);
  bench.verify(mixture.y(), mixture.expected(), mixture.tolerance());
  Amount amount = mixture.amount(Bf16Weights::unit);
  for (unsigned expert = 0; expert < split.experts; ++expert) {
    const unsigned passes = (split.tokens_of(expert) + columns - 1) / columns;
    amount.l1_bytes += passes * l1_bytes(layer, bytes_of<Bf16Weights>, columns);
  }
  run_mixture(bench, amount, 0, [&](cudaStream_t s) {
    gpubench::launch(grouped<Bf16Weights, columns>, dim3(split.experts, row_blocks(layer.n)),
                     threads, 0, s, Bf16Weights{mixture.w(0)}, mixture.x(0), mixture.y(0),
                     first_token.data(), layer.n, layer.k);
  });
}

}  // namespace gemm_batch
