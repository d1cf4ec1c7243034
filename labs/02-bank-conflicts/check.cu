// Checks lab 02: right at every shape, neither memory asked for more than it must, and how fast.
#include "harness/bench/bench.hpp"
#include "labs/02-bank-conflicts/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;

void solve(bool padded, const float* in, float* out, unsigned rows, unsigned columns,
           cudaStream_t stream) {
  const dim3 grid((columns + lab::side - 1) / lab::side, (rows + lab::side - 1) / lab::side);
  const dim3 block(lab::side, lab::rows_at_once);
  const unsigned words_a_row = padded ? lab::side + 1 : lab::side;
  gpubench::launch(padded ? lab::transpose_padded : lab::transpose_swizzled, grid, block,
                   lab::side * words_a_row * sizeof(float), stream, in, out, rows, columns);
}

struct Expected {
  gpubench::Generator<float> in;
  unsigned rows, columns;
  __host__ __device__ float operator()(std::size_t i) const {
    return in(i % rows * columns + i / rows);
  }
};

void check(Bench& bench, unsigned rows, unsigned columns) {
  const bool padded = bench.axis("tile") == "padded";
  const std::size_t n = std::size_t{rows} * columns;
  const auto in = bench.input<float>(n);
  const auto out = bench.output<float>(n);
  bench.verify(out, Expected{in.values(), rows, columns});
  lab::expect_untouched(bench, in);
  bench.work({.useful_bytes = 2.0 * static_cast<double>(n) * sizeof(float),
              .access = gpubench::RowAccess::shared_load});
  bench.run([&](cudaStream_t s) { solve(padded, in.data(), out.data(), rows, columns, s); });
}

void correct(Bench& bench) {
  check(bench, static_cast<unsigned>(bench.arg("rows")),
        static_cast<unsigned>(bench.arg("columns")));
}
GPU_BENCHMARK(lab, correct)
    ->Axis("tile", {"padded", "swizzled"})
    ->ArgNames({"rows", "columns"})
    ->Args({1, 1})
    ->Args({1, 100})
    ->Args({32, 32})
    ->Args({127, 129})
    ->Args({128, 64})
    ->Args({263, 97});

// Sizes that nobody knows beforehand: they come from the seed.
void fresh(Bench& bench) {
  const auto size = bench.input<unsigned>(2).values();
  check(bench, 10 + size(0) % 200, 10 + size(1) % 200);
}
GPU_BENCHMARK(lab, fresh)->Axis("tile", {"padded", "swizzled"});

void timed(Bench& bench) { check(bench, 1024, 2048); }
GPU_BENCHMARK(lab, timed)->Axis("tile", {"padded", "swizzled"});

}  // namespace
