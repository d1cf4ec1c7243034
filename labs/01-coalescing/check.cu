// Checks lab 01: right at every shape, words read once, and how fast.
#include "harness/bench/bench.hpp"
#include "labs/01-coalescing/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;

void solve(float a, const float* x, const float* y, float* out, unsigned n, cudaStream_t stream) {
  const unsigned elements_a_block = lab::threads * lab::elements_a_thread;
  gpubench::launch(lab::axpy, (n + elements_a_block - 1) / elements_a_block, lab::threads, 0,
                   stream, a, x, y, out, n);
}

struct Expected {
  lab::Ranged<> x, y;
  float a;
  __host__ __device__ float operator()(std::size_t i) const { return fmaf(a, x(i), y(i)); }
};

void check(Bench& bench, unsigned n) {
  lab::Ranges ranges(bench, n);
  // A number of few bits, as x and y are: a fused multiply-add and two roundings give the same.
  const float a = ranges.sign() * static_cast<float>(1 + ranges.below(255)) / 16;
  const float scale = ranges.power_of_two(-8, 8);
  const auto of_offset = [&] { return ranges.sign() * static_cast<float>(ranges.below(4)); };
  const auto x = lab::ranged_input(bench, n, scale, of_offset()),
             y = lab::ranged_input(bench, n, scale, of_offset());
  const auto out = bench.output<float>(n);
  bench.verify(out, Expected{x.values(), y.values(), a});
  lab::expect_untouched(bench, x);
  lab::expect_untouched(bench, y);
  bench.work({.useful_bytes = 3.0 * n * sizeof(float), .flops = 2.0 * n});
  bench.run([&](cudaStream_t s) { solve(a, x.data(), y.data(), out.data(), n, s); });
}

void correct(Bench& bench) { check(bench, static_cast<unsigned>(bench.arg("n"))); }
GPU_BENCHMARK(lab, correct)
    ->ArgName("n")
    ->Arg(1)
    ->Arg(31)
    ->Arg(127)
    ->Arg(128)
    ->Arg(129)
    ->Arg(2048)
    ->Arg(2049)
    ->Arg(7919);

// A size that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) { check(bench, 3000 + bench.input<unsigned>(1).values()(0) % 5000); }
GPU_BENCHMARK(lab, fresh);

void timed(Bench& bench) { check(bench, 1u << 21); }
GPU_BENCHMARK(lab, timed);

}  // namespace
