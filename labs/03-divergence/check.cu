// Checks lab 03: right at every length, how many lanes work at a time, and how fast.
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "harness/bench/bench.hpp"
#include "labs/03-divergence/given.cuh"
#include "labs/03-divergence/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;

// Uniform, so that one element in eight needs work; or with a share in each block of its own.
struct Values {
  lab::Fine of;
  gpubench::Generator<unsigned> random;
  bool is_uniform = true;
  unsigned least = 0, most = 0;  // that need work, of 1024

  __host__ __device__ float operator()(std::size_t i) const {
    const float x = of(i);
    if (is_uniform) return x;
    const std::size_t block = i / lab::elements_a_block;
    const unsigned share = least + random(2 * block) % (most - least + 1);
    const bool is_busy = random(2 * i + 1) % 1024 < share;
    return is_busy ? 0.875f + x / 8 : fmaf(x, 0.875f, -0.125f);
  }
};

struct Expected {
  Values in;
  bool is_sparse;
  __host__ __device__ float operator()(std::size_t i) const {
    const float x = in(i);
    if (is_sparse) return needs_work(x) ? work(0, x) : x;
    return work(static_cast<unsigned>(i % kinds), x);
  }
};

// `least` to `most` of the 1024 elements of each block need work; without them, one eighth do.
void check(Bench& bench, unsigned n, std::optional<std::pair<unsigned, unsigned>> busy_share = {}) {
  const bool is_sparse = bench.axis("kernel") == "sparse";
  Values values{{bench.input<unsigned>(1).values()}, bench.input<unsigned>(1).values()};
  if (busy_share) {
    values.is_uniform = false;
    std::tie(values.least, values.most) = *busy_share;
  }
  const lab::Input in(bench, n, values);
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

// Nobody knows beforehand how many elements of a block need work: none, some or all.
void busy(Bench& bench) {
  const std::string& share = bench.axis("share");
  check(bench, 5000,
        share == "none"  ? std::pair{0u, 0u}
        : share == "all" ? std::pair{1024u, 1024u}
                         : std::pair{0u, 1024u});
}
GPU_BENCHMARK(lab, busy)->Axis("kernel", {"sparse"})->Axis("share", {"none", "any", "all"});

// A length that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) { check(bench, 2000 + bench.input<unsigned>(1).values()(0) % 2000); }
GPU_BENCHMARK(lab, fresh)->Axis("kernel", {"mixed", "sparse"});

void timed(Bench& bench) { check(bench, 1u << 20); }
GPU_BENCHMARK(lab, timed)->Axis("kernel", {"mixed", "sparse"});

}  // namespace
