// Checks lab 10: right at every length and for large scores, keys and values read once a block, and
// how fast.
#include <cmath>
#include <vector>

#include "harness/bench/bench.hpp"
#include "labs/10-flash-attention/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;
using gpubench::Generator;

struct Shape {
  unsigned heads, seq;
  float spread;  // of the scores: as that of so many times q k, with numbers in [-1, 1)
};

using Matrix = lab::Input<lab::Ranged<>>;

// All that it holds: a check reads each number once for every query.
std::vector<double> numbers_of(const Matrix& matrix) {
  std::vector<double> numbers(matrix.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = matrix.values()(i);
  return numbers;
}

struct Inputs {
  std::vector<double> q, k, v;
  float scale;
  double largest_v;
};

// "" or the first of a query's results that is wrong, in words. `query`: over all heads.
std::string check_query(const float* got, const Inputs& of, const Shape& shape, std::size_t query) {
  const std::size_t begin = query / shape.seq * shape.seq * lab::head_dim;
  std::vector<double> weights(shape.seq);
  double largest = -INFINITY, sum = 0;
  for (std::size_t key = 0; key < shape.seq; ++key) {
    double score = 0;
    for (std::size_t d = 0; d < lab::head_dim; ++d) {
      score += of.q[query * lab::head_dim + d] * of.k[begin + key * lab::head_dim + d];
    }
    weights[key] = of.scale * score;
    largest = std::fmax(largest, weights[key]);
  }
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (std::size_t d = 0; d < lab::head_dim; ++d) {
    double want = 0;
    for (std::size_t key = 0; key < shape.seq; ++key) {
      want += weights[key] / sum * of.v[begin + key * lab::head_dim + d];
    }
    // A score is off by some 2^-24 of its size, which exp() makes a share of the weight.
    if (!gpubench::is_right(got[d], static_cast<float>(want), 1e-3, 1e-3 * of.largest_v)) {
      return gpubench::describe_wrong(query * lab::head_dim + d, got[d], static_cast<float>(want));
    }
  }
  return "";
}

void check(Bench& bench, const Shape& shape) {
  const std::size_t queries = std::size_t{shape.heads} * shape.seq, n = queries * lab::head_dim;
  lab::Ranges ranges(bench, n);
  const float of_q = ranges.power_of_two(-6, 6), of_k = ranges.power_of_two(-6, 6);
  const float scale = ranges.sign() * shape.spread / (of_q * of_k);
  const auto q = lab::ranged_input(bench, n, of_q), k = lab::ranged_input(bench, n, of_k),
             v = lab::ranged_input(bench, n, ranges.power_of_two(-6, 6));
  const auto out = bench.output<float>(n);
  bench.check([=](bool) {
    std::vector<float> got(n);
    CUDA_CHECK(cudaMemcpy(got.data(), out.data(), n * sizeof(float), cudaMemcpyDeviceToHost));
    const Inputs in{numbers_of(q), numbers_of(k), numbers_of(v), scale, v.values().scale};
    std::string wrong;
    for (std::size_t query = 0; query < queries && wrong.empty(); ++query) {
      wrong = check_query(&got[query * lab::head_dim], in, shape, query);
    }
    return wrong;
  });
  lab::expect_untouched(bench, q);
  lab::expect_untouched(bench, k);
  lab::expect_untouched(bench, v);
  bench.work({.useful_bytes = 4.0 * static_cast<double>(n) * sizeof(float),
              .flops = 4.0 * static_cast<double>(n) * shape.seq});
  const dim3 grid((shape.seq + lab::threads - 1) / lab::threads, shape.heads);
  bench.run([&](cudaStream_t s) {
    launch(lab::attention, grid, lab::threads, 0, s, q.data(), k.data(), v.data(), out.data(),
           shape.seq, scale);
  });
}

void correct(Bench& bench) {
  check(bench, {static_cast<unsigned>(bench.arg("heads")), static_cast<unsigned>(bench.arg("seq")),
                0.25f});
}
GPU_BENCHMARK(lab, correct)
    ->ArgNames({"heads", "seq"})
    ->Args({1, 1})
    ->Args({2, 31})
    ->Args({1, 128})
    ->Args({2, 129});

// Longer than shared memory has room for all scores of a block.
void lengthy(Bench& bench) { check(bench, {1, 520, 1}); }
GPU_BENCHMARK(lab, lengthy);

// Scores of which exp() alone would overflow or vanish, in doubles too.
void large(Bench& bench) { check(bench, {1, 70, bench.arg<float>("spread")}); }
GPU_BENCHMARK(lab, large)->ArgName("spread")->Arg(64)->Arg(4096);

// A shape that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) {
  const auto size = bench.input<unsigned>(2).values();
  check(bench, {1 + size(0) % 2, 40 + size(1) % 160, 2});
}
GPU_BENCHMARK(lab, fresh);

void timed(Bench& bench) { check(bench, {4, 256, 1}); }
GPU_BENCHMARK(lab, timed);

}  // namespace
