// Checks lab 03: right at every length, how many lanes work at a time, and how fast.
#include "harness/bench/bench.hpp"
#include "labs/03-divergence/given.cuh"
#include "labs/03-divergence/interface.cuh"
#include "labs/untouched.hpp"

namespace {

using gpubench::Bench;

struct Expected {
  gpubench::Generator<float> in;
  bool is_sparse;
  __host__ __device__ float operator()(std::size_t i) const {
    const float x = in(i);
    if (is_sparse) return needs_work(x) ? work(0, x) : x;
    return work(static_cast<unsigned>(i % kinds), x);
  }
};

void check(Bench& bench, unsigned n) {
  const bool is_sparse = bench.axis("kernel") == "sparse";
  const auto in = bench.input<float>(n);
  const auto out = bench.output<float>(n);
  bench.verify(out, Expected{in.values(), is_sparse});
  lab::expect_untouched(bench, in);
  double busy = n;
  for (unsigned i = 0; is_sparse && i < n; ++i) busy -= !needs_work(in.values()(i));
  bench.work({.flops = 2.0 * steps * busy, .access = gpubench::RowAccess::arithmetic});
  const unsigned blocks = (n + lab::elements_a_block - 1) / lab::elements_a_block;
  bench.run([&, n](cudaStream_t s) {
    gpubench::launch(is_sparse ? lab::sparse : lab::mixed, blocks, lab::threads, 0, s, in.data(),
                     out.data(), n);
  });
}

void correct(Bench& bench) { check(bench, static_cast<unsigned>(bench.arg("n"))); }
GPU_BENCHMARK(lab, correct)
    ->Axis("kernel", {"mixed", "sparse"})
    ->ArgName("n")
    ->Arg(1)
    ->Arg(31)
    ->Arg(127)
    ->Arg(130)
    ->Arg(1024)
    ->Arg(1027)
    ->Arg(3001);

// A length that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) { check(bench, 2000 + bench.input<unsigned>(1).values()(0) % 2000); }
GPU_BENCHMARK(lab, fresh)->Axis("kernel", {"mixed", "sparse"});

void timed(Bench& bench) { check(bench, 1u << 20); }
GPU_BENCHMARK(lab, timed)->Axis("kernel", {"mixed", "sparse"});

}  // namespace
