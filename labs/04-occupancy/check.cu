// Checks lab 04: right at every length, by whole sectors, and how much of the latency is hidden.
#include "harness/bench/bench.hpp"
#include "labs/04-occupancy/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;

void solve(const float* in, float* out, unsigned n, cudaStream_t stream) {
  const unsigned words_a_block = lab::threads * lab::words_a_thread;
  gpubench::launch(lab::copy, (n + words_a_block - 1) / words_a_block, lab::threads,
                   lab::shared_bytes, stream, in, out, n);
}

void check(Bench& bench, unsigned n) {
  const auto in = bench.input<float>(n);
  const auto out = bench.output<float>(n);
  bench.verify(out, in.values());
  lab::expect_untouched(bench, in);
  bench.work({.useful_bytes = 2.0 * n * sizeof(float)});
  bench.run([&](cudaStream_t s) { solve(in.data(), out.data(), n, s); });
}

void correct(Bench& bench) { check(bench, static_cast<unsigned>(bench.arg("n"))); }
GPU_BENCHMARK(lab, correct)
    ->ArgName("n")
    ->Arg(1)
    ->Arg(127)
    ->Arg(128)
    ->Arg(129)
    ->Arg(1000)
    ->Arg(8209);

// A length that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) { check(bench, 2000 + bench.input<unsigned>(1).values()(0) % 9000); }
GPU_BENCHMARK(lab, fresh);

void timed(Bench& bench) { check(bench, 1u << 22); }
GPU_BENCHMARK(lab, timed);

}  // namespace
