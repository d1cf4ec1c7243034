// A multiplication by cuBLASLt in one of its formats: its rate beside its error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_row.hpp"
#include "harness/bench/precision/library_loss.hpp"
#include "harness/bench/precision/product_error.hpp"
#include "kernels/precision.cuh"

namespace precision {

using gpubench::DeviceBuffer;
using gpubench::ErrorOfRow;
using gpubench::Gemm;
using gpubench::GemmScales;
using gpubench::GemmShape;
using gpubench::GemmType;
using gpubench::ProductSample;

// Results in fp32 wherever the library has them, so that they are not rounded once more.
inline GemmShape shape_of(GemmType type, std::size_t m, std::size_t n, std::size_t k) {
  GemmShape shape = GemmShape::dense(type, m, n, k);
  shape.fp32_result = gpubench::gemm_result_bytes(type) == 2 && type != GemmType::fp16_acc16;
  return shape;
}

// The scales of a format, in the library's order. Beyond the last row there are none.
template <class Format>
struct Scales {
  Format format;
  std::size_t rows;

  __host__ __device__ std::uint8_t operator()(std::size_t offset) const {
    const std::size_t blocks = format.values.k / Format::together;
    const auto [row, block] = gpubench::scale_place(offset, blocks);
    return row < rows && block < blocks ? format.scale(row * blocks + block) : 0;
  }
};

// A matrix in a format, with its scales where the format has them.
template <class Fill>
struct Matrix {
  using Element = decltype(Fill{}(0));
  static constexpr bool has_scales = requires { Fill::together; };

  Fill fill;
  std::size_t rows;
  GemmType type;

  std::size_t elements() const {
    return gpubench::gemm_operand_bytes(type, rows * fill.values.k) / sizeof(Element);
  }
  std::size_t scales() const {
    if constexpr (has_scales) {
      return gpubench::scale_bytes(rows, fill.values.k / Fill::together);
    } else {
      return 0;
    }
  }
  auto scale_values() const { return Scales<Fill>{fill, rows}; }
};

// The elements of a sample, by a multiplication of their own.
template <class Out, class A, class B>
std::vector<double> multiply_sample(const Matrix<A>& a, const Matrix<B>& b) {
  const DeviceBuffer<typename Matrix<A>::Element> on_a(a.elements());
  const DeviceBuffer<typename Matrix<B>::Element> on_b(b.elements());
  const DeviceBuffer<std::uint8_t> scales_a(a.scales()), scales_b(b.scales());
  const DeviceBuffer<Out> d(a.rows * b.rows);
  gpubench::fill_random(on_a.data(), on_a.size(), a.fill);
  gpubench::fill_random(on_b.data(), on_b.size(), b.fill);
  GemmScales scales;
  if constexpr (Matrix<A>::has_scales) {
    gpubench::fill_random(scales_a.data(), scales_a.size(), a.scale_values());
    gpubench::fill_random(scales_b.data(), scales_b.size(), b.scale_values());
    scales = {scales_a.data(), scales_b.data()};
  }
  const GemmShape shape = shape_of(a.type, a.rows, b.rows, a.fill.values.k);
  Gemm(shape).queue(nullptr, on_a.data(), on_b.data(), d.data(), scales);
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<double> got;
  for (const Out element : d.download()) got.push_back(static_cast<double>(element));
  return got;
}

template <class Fill>
Matrix<Fill> spread(Matrix<Fill> matrix, std::size_t rows) {
  matrix.fill.values.stride = matrix.rows / rows;
  matrix.rows = rows;
  return matrix;
}

// `unscale`: what D is multiplied by to undo the scales of whole matrices (the library's alpha).
template <class Out, class A, class B>
void library_row(Bench& bench, const Matrix<A>& of_a, const Matrix<B>& of_b, double unscale) {
  const std::size_t n = of_a.rows;
  const GemmShape shape = shape_of(of_a.type, n, n, n);
  const Gemm gemm = gpubench::gemm_of(bench, shape);
  const auto a = bench.input<typename Matrix<A>::Element>(of_a.elements(), of_a.fill);
  const auto b = bench.input<typename Matrix<B>::Element>(of_b.elements(), of_b.fill);
  const auto d = bench.output<Out>(n * n);
  note(bench, gemm.choice());
  const auto step = static_cast<double>(gemm_step(shape.type, bench.device().compute_capability()));
  const Loss loss =
      library_loss(shape.type, of_a.fill.values.contents, static_cast<double>(n), step);
  const ErrorOfRow error(bench, loss, [=, &bench] {
    const ProductSample sample = ProductSample::of(n, 64);
    const Matrix<A> some_a = spread(of_a, sample.rows);
    const Matrix<B> some_b = spread(of_b, sample.columns);
    if (!bench.priced()) gpubench::require_written(d.data(), d.size());
    std::vector<double> got =
        bench.priced() ? multiply_sample<Out>(some_a, some_b) : gpubench::sampled(sample, d.data());
    for (double& element : got) element *= unscale;
    return relative_error(sample, got, some_a.fill.values, some_b.fill.values);
  });
  bench.work({.moved_bytes = shape.bytes(),
              .flops = shape.flops(),
              .integers = shape.type == GemmType::int8,
              .law = law_of_library(bench, gemm),
              .law_tolerance = 0.2});
  if constexpr (Matrix<A>::has_scales) {
    const auto scales_a = bench.input<std::uint8_t>(of_a.scales(), of_a.scale_values());
    const auto scales_b = bench.input<std::uint8_t>(of_b.scales(), of_b.scale_values());
    bench.run([&](cudaStream_t s) {
      gemm.queue(s, a.data(), b.data(), d.data(), {scales_a.data(), scales_b.data()});
    });
  } else {
    bench.run([&](cudaStream_t s) { gemm.queue(s, a.data(), b.data(), d.data()); });
  }
  if (loss.total() > 0) error.note_error();
}

}  // namespace precision
