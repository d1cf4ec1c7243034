// A multiplication of many bits by several of few: numbers are split into parts by kernels of the
// suite's own, cuBLASLt multiplies the parts, and another kernel adds up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/bench/precision/library_row.hpp"
#include "kernels/precision.cuh"

namespace precision {

// What one multiplication takes: those of parts p = 0, 1, ... whose numbers add up to p, then their
// sum. Sums of products are in Sum, parts from 0 to `parts`.
template <class In, class Part, class Sum, class Out, unsigned parts>
class Emulated {
 public:
  Emulated(const Bench& bench, GemmType type, std::size_t m, std::size_t n, std::size_t k)
      : m_(m), n_(n), k_(k) {
    for (unsigned p = 0; p < parts; ++p) {
      GemmShape shape = shape_of(type, m, n, (p + 1) * k);
      shape.lda = shape.ldb = parts * k;
      groups_.push_back(gpubench::gemm_of(bench, shape));
    }
  }
  struct Memory {
    const In *a, *b;
    Part *parts_a, *parts_b;
    Sum* sums;
    Out* d;
  };
  void queue(cudaStream_t s, const Memory& at) const {
    const auto k = static_cast<unsigned>(k_);
    launch(split<In, Part, parts, false>, blocks(m_ * k_), split_threads, 0, s, at.a, at.parts_a, k,
           m_ * k_);
    launch(split<In, Part, parts, true>, blocks(n_ * k_), split_threads, 0, s, at.b, at.parts_b, k,
           n_ * k_);
    for (unsigned p = 0; p < parts; ++p) {
      groups_[p].queue(s, at.parts_a, at.parts_b + (parts - 1 - p) * k_, at.sums + p * m_ * n_);
    }
    // Integers have seven bits each, the first one six.
    constexpr bool integers = std::is_integral_v<Part>;
    launch(combine<Sum, Out, parts>, blocks(m_ * n_), split_threads, 0, s, at.sums, at.d, m_ * n_,
           static_cast<Out>(integers ? 0x1p-7 : 1), static_cast<Out>(integers ? 0x1p-12 : 1));
  }
  // Splitting and adding up move bytes, one after the other with the multiplications.
  Law law(const Bench& bench) const {
    std::vector<std::pair<Law, double>> multiplications;
    for (const Gemm& group : groups_) {
      multiplications.emplace_back(law_of_library(bench, group), group.shape().flops());
      if (!multiplications.back().first) return {};
    }
    return [=, flops = groups_[0].shape().flops(), bytes = own_bytes()](const Roofs& roofs) {
      double seconds = bytes / roofs.at("dram");
      for (const auto& [rate, work] : multiplications) seconds += work / rate(roofs);
      return flops / seconds;
    };
  }
  double own_bytes() const {
    const auto operands = static_cast<double>((m_ + n_) * k_);
    return operands * (sizeof(In) + parts * sizeof(Part)) +
           static_cast<double>(m_ * n_) * (parts * sizeof(Sum) + sizeof(Out));
  }
  const Gemm& first() const { return groups_[0]; }

 private:
  static unsigned blocks(std::size_t elements) {
    constexpr std::size_t of_block = split_threads * split_each;
    return static_cast<unsigned>((elements + of_block - 1) / of_block);
  }
  std::size_t m_, n_, k_;
  std::vector<Gemm> groups_;
};

template <class In, class Part, class Sum, class Out, unsigned parts>
void emulated_row(Bench& bench, GemmType type, const Loss& loss) {
  using Multiplication = Emulated<In, Part, Sum, Out, parts>;
  const auto n = bench.arg<std::size_t>("n");
  const Multiplication multiplication(bench, type, n, n, n);
  const Rounded<In> fill_a{{Contents::uniform, 1, n}, 1}, fill_b{{Contents::uniform, 2, n}, 1};
  const auto a = bench.input<In>(n * n, fill_a), b = bench.input<In>(n * n, fill_b);
  const auto parts_a = bench.output<Part>(parts * n * n),
             parts_b = bench.output<Part>(parts * n * n);
  const auto sums = bench.output<Sum>(parts * n * n);
  const auto d = bench.output<Out>(n * n);
  note(bench, multiplication.first().choice());
  const ErrorOfRow error(bench, loss, [=, &bench] {
    // (The model runs so few elements of a split whole, also in a build whose blocks cost more.)
    const std::size_t rows_run = (std::size_t{1} << 18) / (n * parts);
    const ProductSample sample = ProductSample::of(n, std::min<std::size_t>(rows_run, 8), parts);
    Rounded<In> some_a = fill_a, some_b = fill_b;
    some_a.values.stride = sample.row_step();
    some_b.values.stride = sample.column_step();
    std::vector<double> got;
    if (bench.modelled()) {
      const std::size_t rows = sample.rows, columns = sample.columns;
      const DeviceBuffer<In> on_a(rows * n), on_b(columns * n);
      const DeviceBuffer<Part> some_parts_a(parts * rows * n), some_parts_b(parts * columns * n);
      const DeviceBuffer<Sum> some_sums(parts * rows * columns);
      const DeviceBuffer<Out> some_d(rows * columns);
      gpubench::fill_random(on_a.data(), on_a.size(), some_a);
      gpubench::fill_random(on_b.data(), on_b.size(), some_b);
      Multiplication(bench, type, rows, columns, n)
          .queue(nullptr, {on_a.data(), on_b.data(), some_parts_a.data(), some_parts_b.data(),
                           some_sums.data(), some_d.data()});
      CUDA_CHECK(cudaDeviceSynchronize());
      for (const Out element : some_d.download()) got.push_back(static_cast<double>(element));
    } else {
      gpubench::require_written(d.data(), d.size());
      got = gpubench::sampled(sample, d.data());
    }
    return relative_error(sample, got, some_a.values, some_b.values);
  });
  const Law law = multiplication.law(bench);
  if (!law) bench.note("demonstrates", "several products that stand for one");
  bench.work({.flops = multiplication.first().shape().flops(), .law = law, .law_tolerance = 0.15});
  bench.run([&](cudaStream_t s) {
    multiplication.queue(
        s, {a.data(), b.data(), parts_a.data(), parts_b.data(), sums.data(), d.data()});
  });
  error.note_error();
  bench.counter("products", parts * (parts + 1) / 2);
}

}  // namespace precision
