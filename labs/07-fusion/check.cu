// Checks lab 07: right at every shape, each word crosses the bus once, and how fast.
#include "harness/bench/bench.hpp"
#include "labs/07-fusion/given.cuh"
#include "labs/07-fusion/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;

void solve(const float* x, const float* bias, const float* residual, float* out, unsigned columns,
           unsigned n, unsigned seed, cudaStream_t stream) {
  const unsigned words_a_block = lab::threads * lab::words_a_thread;
  gpubench::launch(lab::fused, (n + words_a_block - 1) / words_a_block, lab::threads, 0, stream, x,
                   bias, residual, out, columns, n, seed);
}

struct Expected {
  lab::Ranged<lab::Fine> x, bias, residual;
  unsigned columns, seed;
  __host__ __device__ float operator()(std::size_t i) const {
    const float v = x(i) + bias(i % columns);
    return residual(i) + keep(seed, static_cast<unsigned>(i)) * gelu(v);
  }
};

void check(Bench& bench, unsigned rows, unsigned columns) {
  const unsigned n = rows * columns;
  lab::Ranges ranges(bench, n);
  const auto some = [&](unsigned words) {
    const lab::Fine fine{bench.input<unsigned>(1).values()};
    return lab::Input(bench, words, lab::Ranged<lab::Fine>{fine, ranges.power_of_two(-2, 2)});
  };
  const auto x = some(n), bias = some(columns), residual = some(n);
  const auto out = bench.output<float>(n);
  const unsigned seed = bench.input<unsigned>(1).values()(0);
  // tanhf differs by a few units in the last place between a GPU and a CPU.
  bench.verify(out, Expected{x.values(), bias.values(), residual.values(), columns, seed},
               {.relative = 1e-5, .absolute = 1e-5});
  lab::expect_untouched(bench, x);
  lab::expect_untouched(bench, bias);
  lab::expect_untouched(bench, residual);
  bench.work({.useful_bytes = 3.0 * n * sizeof(float)});
  bench.run([&](cudaStream_t s) {
    solve(x.data(), bias.data(), residual.data(), out.data(), columns, n, seed, s);
  });
}

void correct(Bench& bench) {
  check(bench, static_cast<unsigned>(bench.arg("rows")),
        static_cast<unsigned>(bench.arg("columns")));
}
GPU_BENCHMARK(lab, correct)
    ->ArgNames({"rows", "columns"})
    ->Args({1, 4})
    ->Args({127, 4})
    ->Args({9, 260})
    ->Args({31, 1024})
    // A bias that shared memory does not hold.
    ->Args({2, 12292});

// A shape that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) {
  const auto size = bench.input<unsigned>(2).values();
  check(bench, 5 + size(0) % 40, 4 * (10 + size(1) % 100));
}
GPU_BENCHMARK(lab, fresh);

void timed(Bench& bench) { check(bench, 1024, 1024); }
GPU_BENCHMARK(lab, timed);

}  // namespace
