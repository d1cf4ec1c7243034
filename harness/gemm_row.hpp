// What a row that multiplies matrices by cuBLASLt needs: to be skipped where that does not go, to
// say what the library chose, and to check what it left on the device. Small results are checked
// element by element, large ones by Freivalds' two random vectors and 1000 elements in fp64.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "harness/bench.hpp"
#include "harness/gpu/gemm.hpp"
#include "kernels/common/product.cuh"

namespace gpubench {

// Multiplications up to which every element is compared.
inline constexpr double compared_whole = 1 << 24;

// How far a sum of k products of numbers up to 1 may be off: it is rounded to D's type once, and on
// the way, in fp32, by an amount that grows as a random walk does. (The sums of fp8 keep fewer
// bits.)
struct GemmTolerance {
  double relative, absolute;
};
inline GemmTolerance gemm_tolerance(const GemmShape& shape) {
  const double walk = std::sqrt(static_cast<double>(shape.k));
  switch (shape.type) {
    case GemmType::bf16:
      return {0x1p-8, 1e-4 * walk};
    case GemmType::fp16:
      return {0x1p-10, 1e-4 * walk};
    case GemmType::tf32:
      return {1e-6, 1e-4 * walk};
    case GemmType::fp8:
      return {0x1p-8, 2e-2 * walk};
    case GemmType::int8:
      break;
  }
  return {0, 0};
}

template <class Out, class Source>
product::Expected<Out, Source> expected_product(const GemmShape& s, Source a, Source b) {
  product::Expected<Out, Source> expected{a, b, s.n, s.k, s.lda, s.ldb, s.ldd, {}};
  std::memset(static_cast<void*>(&expected.gap), poison_byte, sizeof expected.gap);
  return expected;
}

// "" or what is wrong. A and B were filled by `of_a` and `of_b`, and D, of m * ldd elements, was
// poisoned before.
template <class In, class Out, class Source>
std::string check_product(const GemmShape& s, const In* a, const In* b, const Out* d, Source of_a,
                          Source of_b) {
  using product::threads;
  if (s.m == 0 || s.n == 0) return "";
  const auto expected = expected_product<Out>(s, of_a, of_b);
  const GemmTolerance tolerance = gemm_tolerance(s);
  if (s.flops() / 2 <= compared_whole) {
    return check_elements(d, s.m * s.ldd, expected, tolerance.relative, tolerance.absolute, false);
  }

  constexpr unsigned samples = 1000;
  const DeviceBuffer<double> got(samples), wanted(samples);
  launch(product::sample<Out, decltype(expected)>, (samples + threads - 1) / threads, threads, 0,
         nullptr, d, s.m, expected, std::uint64_t{1}, samples, got.data(), wanted.data());
  const std::vector<double> is = got.download(), shall = wanted.download();
  for (unsigned i = 0; i < samples; ++i) {
    if (!is_right(is[i], shall[i], tolerance.relative, tolerance.absolute)) {
      return "sampled " + describe_wrong(i, is[i], shall[i]);
    }
  }

  const DeviceBuffer<double> combined(s.k), left(s.m), right(s.m), unused(s.m), squares(s.m);
  for (const std::uint64_t seed : {11u, 12u}) {
    launch(product::combine_rows<In>, static_cast<unsigned>((s.k + threads - 1) / threads), threads,
           0, nullptr, b, s.n, s.k, s.ldb, seed, combined.data());
    launch(product::weigh_columns<In, product::ByVector>, static_cast<unsigned>(s.m), threads, 0,
           nullptr, a, s.k, s.lda, product::ByVector{combined.data()}, right.data(), unused.data());
    launch(product::weigh_columns<Out, product::BySigns>, static_cast<unsigned>(s.m), threads, 0,
           nullptr, d, s.n, s.ldd, product::BySigns{seed}, left.data(), squares.data());
    const std::vector<double> y = left.download(), z = right.download(), d2 = squares.download();
    for (std::size_t row = 0; row < s.m; ++row) {
      // The roundings of a row's elements, added up with random signs: eight standard deviations.
      const double allowed = 8 * (tolerance.relative * std::sqrt(d2[row]) +
                                  tolerance.absolute * std::sqrt(static_cast<double>(s.n)));
      if (!(std::abs(y[row] - z[row]) <= allowed)) {
        return "row " + std::to_string(row) + " fails Freivalds' check: " + std::to_string(y[row]) +
               ", expected " + std::to_string(z[row]);
      }
    }
  }
  return "";
}

// The multiplication, or the row is skipped with the reason.
inline Gemm gemm_of(const Bench& bench, const GemmShape& shape) {
  try {
    return Gemm(shape);
  } catch (const GemmUnavailable& why) {
    bench.skip(why.what());
  }
}

// What the library decided, as keys of the row.
inline void note(Bench& bench, const GemmChoice& choice) {
  bench.note("algorithm", choice.algorithm);
  if (!choice.unit.empty()) bench.note("unit", choice.unit);
  if (choice.tile_m > 0) {
    bench.note("tile", std::to_string(choice.tile_m) + "x" + std::to_string(choice.tile_n));
  }
  bench.note("workspace_bytes", choice.workspace_bytes);
  bench.note("split_k", choice.split_k);
  if (choice.waves > 0) bench.note("waves", choice.waves);
}

// Multiplies and checks a shape that the model computes, not only prices: every dimension as far
// beyond a multiple of 64 as of `shape`. "" or what is wrong.
template <class In, class Out>
std::string check_in_small(const GemmShape& shape) {
  const auto small = [](std::size_t n) { return 64 + n % 64; };
  GemmShape s = GemmShape::dense(shape.type, small(shape.m), small(shape.n), small(shape.k));
  s.lda += shape.lda - shape.k;
  s.ldb += shape.ldb - shape.k;
  s.ldd += shape.ldd - shape.n;
  const DeviceBuffer<In> a(s.m * s.lda), b(s.n * s.ldb);
  const DeviceBuffer<Out> d(s.m * s.ldd);
  const Generator<In> of_a{1}, of_b{2};
  fill_random(a.data(), a.size(), of_a);
  fill_random(b.data(), b.size(), of_b);
  CUDA_CHECK(cudaMemset(d.data(), poison_byte, d.bytes()));
  Gemm(s).queue(nullptr, a.data(), b.data(), d.data());
  CUDA_CHECK(cudaDeviceSynchronize());
  return check_product(s, a.data(), b.data(), d.data(), of_a, of_b);
}

// Has `gemm` checked after one run of the body.
template <class In, class Out>
void verify_product(Bench& bench, const GemmShape& shape, const Input<In>& a, const Input<In>& b,
                    const Output<Out>& d) {
  bench.check([=, &bench](bool) {
    return bench.priced()
               ? check_in_small<In, Out>(shape)
               : check_product(shape, a.data(), b.data(), d.data(), a.values(), b.values());
  });
}

}  // namespace gpubench
