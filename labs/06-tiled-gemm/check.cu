// Checks lab 06: right at every shape, how often global memory is asked, and how fast.
#include "harness/bench/bench.hpp"
#include "labs/06-tiled-gemm/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;

void solve(const float* a, const float* b, float* c, unsigned m, unsigned n, unsigned k,
           cudaStream_t stream) {
  const dim3 grid((n + lab::side - 1) / lab::side, (m + lab::side - 1) / lab::side);
  gpubench::launch(lab::multiply, grid, dim3(lab::side, lab::side / lab::rows_a_thread), 0, stream,
                   a, b, c, m, n, k);
}

struct Expected {
  lab::Ranged<> a, b;
  std::size_t n, k;
  __host__ __device__ float operator()(std::size_t i) const {
    double sum = 0;
    for (std::size_t l = 0; l < k; ++l) sum += double{a(i / n * k + l)} * b(l * n + i % n);
    return static_cast<float>(sum);
  }
};

void check(Bench& bench, unsigned m, unsigned n, unsigned k) {
  lab::Ranges ranges(bench, m + n + k);
  const float of_a = ranges.power_of_two(-8, 8), of_b = ranges.power_of_two(-8, 8);
  const auto a = lab::ranged_input(bench, std::size_t{m} * k, of_a),
             b = lab::ranged_input(bench, std::size_t{k} * n, of_b);
  const auto c = bench.output<float>(std::size_t{m} * n);
  // k products, each below of_a * of_b, in an order of the solution's own.
  bench.verify(c, Expected{a.values(), b.values(), n, k}, {.absolute = 1e-6 * k * of_a * of_b});
  lab::expect_untouched(bench, a);
  lab::expect_untouched(bench, b);
  bench.work(
      {.useful_bytes = 4.0 * (1.0 * m * k + 1.0 * k * n + 1.0 * m * n), .flops = 2.0 * m * n * k});
  bench.run([&](cudaStream_t s) { solve(a.data(), b.data(), c.data(), m, n, k, s); });
  // Known where somebody judges. A thread with twice the results may load twice the words.
  const auto& counters = bench.row().counters;
  if (const auto words = counters.find("loaded_words"); words != counters.end()) {
    bench.counter("loaded_words_per_result", words->second / lab::rows_a_thread);
  }
}

void correct(Bench& bench) {
  check(bench, static_cast<unsigned>(bench.arg("m")), static_cast<unsigned>(bench.arg("n")),
        static_cast<unsigned>(bench.arg("k")));
}
GPU_BENCHMARK(lab, correct)
    ->ArgNames({"m", "n", "k"})
    ->Args({1, 1, 1})
    ->Args({32, 32, 32})
    ->Args({33, 31, 47})
    ->Args({1, 127, 64})
    ->Args({65, 1, 100})
    // More than registers and shared memory of a block hold of a and b.
    ->Args({3, 5, 1500});

// A shape that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) {
  const auto size = bench.input<unsigned>(3).values();
  check(bench, 20 + size(0) % 60, 20 + size(1) % 60, 20 + size(2) % 60);
}
GPU_BENCHMARK(lab, fresh);

void timed(Bench& bench) { check(bench, 512, 1024, 64); }
GPU_BENCHMARK(lab, timed);

}  // namespace
