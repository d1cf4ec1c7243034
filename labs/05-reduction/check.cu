// Checks lab 05: right at every length, no bank conflicts, little shared memory, and how fast.
#include <algorithm>

#include "harness/bench/bench.hpp"
#include "labs/05-reduction/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;

void solve(const float* in, float* sums, unsigned n, cudaStream_t stream) {
  gpubench::launch(lab::block_sums, (n + lab::words_a_block - 1) / lab::words_a_block, lab::threads,
                   0, stream, in, sums, n);
}

struct Expected {
  lab::Ranged<> in;
  std::size_t n;
  __host__ __device__ float operator()(std::size_t block) const {
    float sum = 0;
    const std::size_t end = (block + 1) * lab::words_a_block;
    for (std::size_t i = block * lab::words_a_block; i < end && i < n; ++i) sum += in(i);
    return sum;
  }
};

void check(Bench& bench, unsigned n) {
  // Multiples of 2^-10 below 4 in magnitude, times a power of two: sums of 4096 are exact in any
  // order.
  lab::Ranges ranges(bench, n);
  const auto in = lab::ranged_input(bench, n, ranges.power_of_two(-20, 20),
                                    ranges.sign() * static_cast<float>(ranges.below(4)));
  const auto sums = bench.output<float>((n + lab::words_a_block - 1) / lab::words_a_block);
  bench.verify(sums, Expected{in.values(), n});
  lab::expect_untouched(bench, in);
  bench.work({.useful_bytes = 1.0 * n * sizeof(float),
              .flops = 1.0 * n,
              .access = gpubench::RowAccess::shared_load});
  bench.run([&](cudaStream_t s) { solve(in.data(), sums.data(), n, s); });
}

void correct(Bench& bench) { check(bench, static_cast<unsigned>(bench.arg("n"))); }
GPU_BENCHMARK(lab, correct)
    ->ArgName("n")
    ->Arg(1)
    ->Arg(31)
    ->Arg(33)
    ->Arg(127)
    ->Arg(128)
    ->Arg(4096)
    ->Arg(4097)
    ->Arg(12289);

// A length that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) { check(bench, 5000 + bench.input<unsigned>(1).values()(0) % 9000); }
GPU_BENCHMARK(lab, fresh);

void timed(Bench& bench) { check(bench, 1u << 22); }
GPU_BENCHMARK(lab, timed);

}  // namespace
