// Checks lab 09: right at every length and for large numbers, two passes, and how fast.
#include <cmath>
#include <vector>

#include "harness/bench/bench.hpp"
#include "labs/09-online-softmax/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;

void solve(const float* in, float* out, unsigned rows, unsigned columns, float scale,
           cudaStream_t stream) {
  gpubench::launch(lab::softmax, rows, lab::threads, 0, stream, in, out, columns, scale);
}

// Every row is somewhere else, far above 0 or far below, by a multiple of `apart`: exp() of the
// values as they are, or less anything but the row's largest, overflows or vanishes, in doubles
// too.
struct Values {
  gpubench::Generator<float> of;
  gpubench::Generator<unsigned> random;
  std::size_t columns;
  float spread, apart;

  __host__ __device__ float operator()(std::size_t i) const {
    const unsigned bits = random(i / columns);
    const float away = apart * static_cast<float>(8 + bits / 2 % 8);
    return spread * of(i) + (bits % 2 == 0 ? away : -away);
  }
};

// "" or the first of a row's results that is wrong, in words.
std::string check_row(const float* got, const Values& in, std::size_t begin, unsigned columns,
                      float scale) {
  double largest = -INFINITY, sum = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    largest = std::fmax(largest, double{scale} * in(begin + c));
  }
  for (std::size_t c = 0; c < columns; ++c) {
    sum += std::exp(double{scale} * in(begin + c) - largest);
  }
  for (std::size_t c = 0; c < columns; ++c) {
    const double want = std::exp(double{scale} * in(begin + c) - largest) / sum;
    // An exponent may be off by some roundings of the largest one's size, which exp() makes a
    // share.
    const double share = 1e-4 + std::ldexp(std::fabs(largest), -22);
    if (!gpubench::is_right(got[c], static_cast<float>(want), share, 1e-9)) {
      return gpubench::describe_wrong(begin + c, got[c], static_cast<float>(want));
    }
  }
  return "";
}

// `spread`: of the exponents within a row, either way.
void check(Bench& bench, unsigned rows, unsigned columns, float spread) {
  const std::size_t n = std::size_t{rows} * columns;
  lab::Ranges ranges(bench, n);
  const float size = ranges.power_of_two(-4, 4), scale = ranges.sign() * size;
  const Values values{bench.input<float>(1).values(), bench.input<unsigned>(1).values(), columns,
                      spread / size, 128 / size};
  const lab::Input in(bench, n, values);
  const auto out = bench.output<float>(n);
  bench.check([=](bool) {
    std::vector<float> got(n);
    CUDA_CHECK(cudaMemcpy(got.data(), out.data(), n * sizeof(float), cudaMemcpyDeviceToHost));
    std::string wrong;
    for (std::size_t begin = 0; begin < n && wrong.empty(); begin += columns) {
      wrong = check_row(&got[begin], in.values(), begin, columns, scale);
    }
    return wrong;
  });
  lab::expect_untouched(bench, in);
  bench.work({.useful_bytes = 2.0 * static_cast<double>(n) * sizeof(float)});
  bench.run([&](cudaStream_t s) { solve(in.data(), out.data(), rows, columns, scale, s); });
}

void correct(Bench& bench) {
  check(bench, static_cast<unsigned>(bench.arg("rows")),
        static_cast<unsigned>(bench.arg("columns")), 1);
}
GPU_BENCHMARK(lab, correct)
    ->ArgNames({"rows", "columns"})
    ->Args({1, 1})
    ->Args({2, 31})
    ->Args({3, 127})
    ->Args({3, 256})
    ->Args({5, 1000});

// Longer than what registers and shared memory of a block hold.
void lengthy(Bench& bench) { check(bench, 1, 80000, 1); }
GPU_BENCHMARK(lab, lengthy);

// Numbers so far apart that only the largest counts.
void large(Bench& bench) { check(bench, 8, 300, 1 << 14); }
GPU_BENCHMARK(lab, large);

// A shape that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) {
  const auto size = bench.input<unsigned>(2).values();
  check(bench, 2 + size(0) % 5, 100 + size(1) % 900, 4);
}
GPU_BENCHMARK(lab, fresh);

void timed(Bench& bench) { check(bench, 512, 4096, 8); }
GPU_BENCHMARK(lab, timed);

}  // namespace
