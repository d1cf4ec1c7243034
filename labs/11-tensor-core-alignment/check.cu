// Checks lab 11: right at every shape, with ragged rows and padded ones, what is multiplied for
// nothing, how wide the loads are, and how fast.
#include <cuda_bf16.h>

#include "harness/bench/bench.hpp"
#include "kernels/tile_alignment.cuh"
#include "labs/11-tensor-core-alignment/interface.cuh"
#include "labs/inputs.hpp"

namespace {

using gpubench::Bench;
using gpubench::Generator;
using tile_alignment::Padded;
using tile_alignment::rounded_up;
using element = __nv_bfloat16;

struct Shape {
  unsigned m, n, k;
};

struct Expected {
  Generator<element> a, b;
  std::size_t n, k;
  __host__ __device__ float operator()(std::size_t i) const {
    double sum = 0;
    for (std::size_t l = 0; l < k; ++l) {
      sum += double{static_cast<float>(a(i / n * k + l))} * static_cast<float>(b(i % n * k + l));
    }
    return static_cast<float>(sum);
  }
};

unsigned tiles(unsigned n) { return (n + lab::side - 1) / lab::side; }

unsigned padded_row(unsigned k) { return static_cast<unsigned>(rounded_up(k, lab::row_multiple)); }

// For k products, each below 1, in an order of the hardware's own.
gpubench::Tolerance tolerance(unsigned k) { return {.absolute = 1e-6 * k}; }

// `solve` queues the multiplication in a stream.
template <class Solve>
void multiply(Bench& bench, const Shape& shape, const Solve& solve) {
  const double needed = 1.0 * shape.m * shape.n * shape.k, an_instruction = 16.0 * 8 * 16;
  bench.work({.flops = 2 * needed});
  bench.run(solve);
  // Known where the device counts instructions.
  double by_calls = 0;
  for (const auto& [kind, count] : bench.row().instructions) {
    if (kind == "tensor") bench.counter("wasted_fraction", 1 - needed / (count * an_instruction));
    if (kind == "add_fp32" || kind == "special") by_calls += 32 * count;
  }
  bench.counter("by_calls_share", by_calls / (2 * needed));
}

void multiply_ragged(Bench& bench, const Shape& shape) {
  const auto [m, n, k] = shape;
  const auto a = bench.input<element>(std::size_t{m} * k);
  const auto b = bench.input<element>(std::size_t{n} * k);
  const auto d = bench.output<float>(std::size_t{m} * n);
  bench.verify(d, Expected{a.values(), b.values(), n, k}, tolerance(k));
  lab::expect_untouched(bench, a);
  lab::expect_untouched(bench, b);
  multiply(bench, shape, [&, m = m, n = n, k = k](auto s) {
    gpubench::launch(lab::multiply_ragged, dim3(tiles(n), tiles(m)), lab::threads, 0, s, a.data(),
                     b.data(), d.data(), m, n, k);
  });
}

void multiply_padded(Bench& bench, const Shape& shape) {
  const auto [m, n, k] = shape;
  const unsigned stride = padded_row(k);
  const auto of_a = bench.input<element>(1).values(), of_b = bench.input<element>(1).values();
  const auto padded = [&, k = k](const Generator<element>& values, unsigned rows) {
    return lab::Input(bench, std::size_t{tiles(rows)} * lab::side * stride,
                      Padded<Generator<element>>{values, rows, k, stride});
  };
  const auto a = padded(of_a, m), b = padded(of_b, n);
  const auto d = bench.output<float>(std::size_t{m} * n);
  bench.verify(d, Expected{of_a, of_b, n, k}, tolerance(k));
  lab::expect_untouched(bench, a);
  lab::expect_untouched(bench, b);
  multiply(bench, shape, [&, m = m, n = n](auto s) {
    gpubench::launch(lab::multiply_padded, dim3(tiles(n), tiles(m)), lab::threads, 0, s, a.data(),
                     b.data(), d.data(), m, n, stride);
  });
}

// Pads a, which has m rows of k.
void pad(Bench& bench, const Shape& shape) {
  const auto [m, n, k] = shape;
  const unsigned rows = tiles(m) * lab::side, stride = padded_row(k);
  const auto from = bench.input<element>(std::size_t{m} * k);
  const auto to = bench.output<element>(std::size_t{rows} * stride);
  bench.verify(to, Padded<Generator<element>>{from.values(), m, k, stride});
  lab::expect_untouched(bench, from);
  bench.work({.useful_bytes = 2.0 * m * k * sizeof(element)});
  bench.run([&, m = m, k = k](cudaStream_t s) {
    gpubench::launch(lab::pad, rows, lab::threads, 0, s, from.data(), to.data(), m, k, stride);
  });
}

void check(Bench& bench, const Shape& shape) {
  const std::string& part = bench.axis("part");
  return part == "ragged" ? multiply_ragged(bench, shape)
         : part == "pad"  ? pad(bench, shape)
                          : multiply_padded(bench, shape);
}

void correct(Bench& bench) {
  const auto size = [&](const char* name) { return static_cast<unsigned>(bench.arg(name)); };
  check(bench, {size("m"), size("n"), size("k")});
}
GPU_BENCHMARK(lab, correct)
    ->Axis("part", {"ragged", "pad", "padded"})
    ->ArgNames({"m", "n", "k"})
    ->Args({1, 1, 1})
    ->Args({32, 64, 32})
    ->Args({127, 129, 31})
    ->Args({17, 8, 48})
    ->Args({61, 1, 127});

// A shape that nobody knows beforehand: it comes from the seed.
void fresh(Bench& bench) {
  const auto size = bench.input<unsigned>(3).values();
  check(bench, {20 + size(0) % 90, 20 + size(1) % 90, 20 + size(2) % 90});
}
GPU_BENCHMARK(lab, fresh)->Axis("part", {"ragged", "pad", "padded"});

// Long rows, so that the kernels take longer than their launch and padding adds little to k.
void timed(Bench& bench) { check(bench, {127, 127, 1025}); }
GPU_BENCHMARK(lab, timed)->Axis("part", {"ragged", "pad", "padded"});

}  // namespace
