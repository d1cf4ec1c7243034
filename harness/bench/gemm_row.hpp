// What a row that multiplies matrices by cuBLASLt needs: to be skipped where that does not go, to
// say what the library chose, and to check what it left on the device. Small results are checked
// element by element, large ones by Freivalds' two random vectors and 1000 elements in fp64.
// Kernels of our own are checked in the same way.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/platform/gemm.hpp"
#include "kernels/common/product.cuh"
#include "kernels/common/tiles.cuh"

namespace gpubench {

// Multiplications up to which every element is compared.
inline constexpr double compared_whole = 1 << 24;

// How far a correct element of D may be from the exact sum of its k products.
struct GemmTolerance {
  double relative, absolute;
};

// Rounding an exact result to its type moves it by no more than this, relative to itself.
template <class Out>
constexpr double half_unit() {
  if constexpr (std::is_same_v<Out, __nv_bfloat16>) return 0x1p-8;
  if constexpr (std::is_same_v<Out, __half>) return 0x1p-11;
  return 0x1p-24;
}

// How a unit adds up. Tensor Cores shift the products of one step to the largest exponent among
// them and the sum so far, and cut off what is then below `unit`; the new sum is cut off toward
// zero as well (Fasi et al., PeerJ CS 7:e330; Khattak and Mikaitis, arXiv 2512.07004; sums of fp8
// on sm_90: DeepSeek-V3, arXiv 2412.19437). Multiply-adds in fp32 round to nearest.
struct Accumulation {
  double unit;        // relative to the largest number at hand
  double least_step;  // products that any architecture adds in one step; 0: sums are not cut off
};
constexpr Accumulation accumulation_of(GemmType type) {
  switch (type) {
    case GemmType::fp32:
      return {0x1p-23, 0};
    case GemmType::fp8:
      return {0x1p-13, 16};
    default:
      return {0x1p-23, 4};
  }
}

// With factors at random in [-1, 1), a partial sum of k products stays below 1.5 sqrt(k): 4.5
// standard deviations. On the way there it is 2/3 of that on the average, and each step cuts off
// half a unit, always toward zero: k / (3 least_step) units in all. What single products lose has
// either sign: sqrt(k) / 2 units are many standard deviations.
template <class Out>
GemmTolerance gemm_tolerance(const GemmShape& shape) {
  if (std::is_integral_v<Out>) return {0, 0};
  const auto [unit, least_step] = accumulation_of(shape.type);
  const auto k = static_cast<double>(shape.k);
  const double one_way = least_step > 0 ? k / (3 * least_step) : 0;
  const double lost = unit * (one_way + std::sqrt(k) / 2);
  return {half_unit<Out>() + lost, 1.5 * std::sqrt(k) * lost};
}

// Floating-point results are compared with the sum as it is before it is rounded.
template <class Out, class Source>
using ExpectedProduct =
    product::Expected<Out, Source, std::conditional_t<std::is_integral_v<Out>, Out, Unrounded>>;

template <class Out, class Source>
ExpectedProduct<Out, Source> expected_product(const GemmShape& s, Source a, Source b) {
  const std::size_t b_column = s.b_is_k_by_n ? 1 : s.ldb, b_step = s.b_is_k_by_n ? s.ldb : 1;
  ExpectedProduct<Out, Source> expected{a, b, s.n, s.k, s.lda, b_column, b_step, s.ldd, {}};
  std::memset(static_cast<void*>(&expected.gap), poison_byte, sizeof expected.gap);
  return expected;
}

// Freivalds' verdict on a row of `n` elements whose squares add up to `squares`: "" or what is
// wrong.
inline std::string judge_row(std::size_t row, double measured, double wanted, double squares,
                             std::size_t n, const GemmTolerance& tolerance) {
  // The roundings of a row's elements, added up with random signs: eight standard deviations.
  const double allowed = 8 * (tolerance.relative * std::sqrt(squares) +
                              tolerance.absolute * std::sqrt(static_cast<double>(n)));
  if (std::abs(measured - wanted) <= allowed) return "";
  return "row " + std::to_string(row) + " fails Freivalds' check: " + std::to_string(measured) +
         ", expected " + std::to_string(wanted);
}

// "" or what is wrong. A and B were filled by `of_a` and `of_b`, and D, of m * ldd elements, was
// poisoned before.
template <class In, class Out, class Source>
std::string check_product(const GemmShape& s, const In* a, const In* b, const Out* d, Source of_a,
                          Source of_b) {
  using product::threads;
  if (s.m == 0 || s.n == 0) return "";
  const auto expected = expected_product<Out>(s, of_a, of_b);
  const GemmTolerance tolerance = gemm_tolerance<Out>(s);
  if (s.flops() / 2 <= compared_whole) {
    return check_elements(d, s.m * s.ldd, expected, tolerance.relative, tolerance.absolute, false);
  }

  constexpr unsigned samples = 1000;
  const DeviceBuffer<double> got(samples), wanted(samples);
  launch(product::sample<Out, decltype(expected)>, (samples + threads - 1) / threads, threads, 0,
         nullptr, d, s.m, expected, std::uint64_t{1}, samples, got.data(), wanted.data());
  const std::vector<double> all_got = got.download(), all_wanted = wanted.download();
  for (unsigned i = 0; i < samples; ++i) {
    if (!is_right(all_got[i], all_wanted[i], tolerance.relative, tolerance.absolute)) {
      return "sampled " + describe_wrong(i, all_got[i], all_wanted[i]);
    }
  }

  const DeviceBuffer<double> combined(s.k), left(s.m), right(s.m), squares(s.m),
      unused(std::max(s.m, s.k));
  for (const std::uint64_t seed : {11u, 12u}) {
    if (s.b_is_k_by_n) {
      launch(product::weigh_columns<In, product::BySigns>, static_cast<unsigned>(s.k), threads, 0,
             nullptr, b, s.n, s.ldb, product::BySigns{seed}, combined.data(), unused.data());
    } else {
      launch(product::combine_rows<In>, static_cast<unsigned>((s.k + threads - 1) / threads),
             threads, 0, nullptr, b, s.n, s.k, s.ldb, seed, combined.data());
    }
    launch(product::weigh_columns<In, product::ByVector>, static_cast<unsigned>(s.m), threads, 0,
           nullptr, a, s.k, s.lda, product::ByVector{combined.data()}, right.data(), unused.data());
    launch(product::weigh_columns<Out, product::BySigns>, static_cast<unsigned>(s.m), threads, 0,
           nullptr, d, s.n, s.ldd, product::BySigns{seed}, left.data(), squares.data());
    const std::vector<double> y = left.download(), z = right.download(), d2 = squares.download();
    for (std::size_t row = 0; row < s.m; ++row) {
      const std::string wrong = judge_row(row, y[row], z[row], d2[row], s.n, tolerance);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

// Part of D: its corner, and how much of it there is.
struct ProductTile {
  std::size_t row, column, rows, columns;
};

// Freivalds' verdict on a tile, whose corner in the host's copy of D is `corner`.
template <class Out, class Expected, class Source>
std::string judge_tile(const GemmShape& s, const ProductTile& tile, const Out* corner,
                       const Expected& expected, Source of_a, Source of_b) {
  constexpr std::uint64_t seeds[] = {11, 12};
  const GemmTolerance tolerance = gemm_tolerance<Out>(s);
  std::vector<double> combined[2] = {std::vector<double>(s.k), std::vector<double>(s.k)};
  for (std::size_t j = 0; j < s.k; ++j) {
    for (std::size_t column = 0; column < tile.columns; ++column) {
      const auto b = static_cast<double>(
          of_b((tile.column + column) * expected.b_column + j * expected.b_step));
      for (int r : {0, 1}) combined[r][j] += product::sign(seeds[r], column) * b;
    }
  }
  for (std::size_t row = 0; row < tile.rows; ++row) {
    double measured[2] = {}, wanted[2] = {}, squares = 0;
    for (std::size_t column = 0; column < tile.columns; ++column) {
      const auto value = static_cast<double>(corner[row * s.ldd + column]);
      for (int r : {0, 1}) measured[r] += product::sign(seeds[r], column) * value;
      squares += value * value;
    }
    for (std::size_t j = 0; j < s.k; ++j) {
      const auto a = static_cast<double>(of_a((tile.row + row) * s.lda + j));
      for (int r : {0, 1}) wanted[r] += a * combined[r][j];
    }
    for (int r : {0, 1}) {
      const std::string wrong =
          judge_row(tile.row + row, measured[r], wanted[r], squares, tile.columns, tolerance);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

// The same of a D of which some blocks have made their tiles, of tile_m x tile_n elements: of four
// of those of which a corner is not poison. (For the model, which runs a sample.)
template <class Out, class Source>
std::string check_written_tiles(const GemmShape& s, const Out* d, Source of_a, Source of_b,
                                std::size_t tile_m, std::size_t tile_n) {
  std::vector<Out> all(s.m * s.ldd);
  CUDA_CHECK(cudaMemcpy(all.data(), d, all.size() * sizeof(Out), cudaMemcpyDeviceToHost));
  constexpr std::size_t enough = 4;
  std::vector<ProductTile> written;
  for (std::size_t row = 0; row < s.m; row += tile_m) {
    for (std::size_t column = 0; column < s.n; column += tile_n) {
      const ProductTile tile{row, column, std::min(tile_m, s.m - row),
                             std::min(tile_n, s.n - column)};
      const auto is_there = [&](std::size_t down, std::size_t across) {
        return !is_poison(all[(row + down) * s.ldd + column + across]);
      };
      if (is_there(0, 0) || is_there(0, tile.columns - 1) || is_there(tile.rows - 1, 0) ||
          is_there(tile.rows - 1, tile.columns - 1)) {
        written.push_back(tile);
      }
    }
  }
  // If there are more than enough, the first, the last, and some between.
  const auto expected = expected_product<Out>(s, of_a, of_b);
  const std::size_t checked = std::min(written.size(), enough);
  for (std::size_t i = 0; i < checked; ++i) {
    const ProductTile& tile = written[checked == 1 ? 0 : i * (written.size() - 1) / (checked - 1)];
    const std::string wrong =
        judge_tile(s, tile, &all[tile.row * s.ldd + tile.column], expected, of_a, of_b);
    if (!wrong.empty()) return wrong;
  }
  return written.empty() ? "nothing was written" : "";
}

// The multiplication, or the row is skipped with the reason.
inline Gemm gemm_of(const Bench& bench, const GemmShape& shape, const GemmBatch& batch = {}) {
  try {
    return Gemm(shape, batch);
  } catch (const GemmUnavailable& why) {
    bench.skip(why.what());
  }
}

// Whether all rows begin at multiples of 16 bytes.
inline bool rows_are_aligned(const GemmShape& s) {
  const auto in = [&](std::size_t elements) { return gemm_operand_bytes(s.type, elements); };
  const std::size_t out = s.result_bytes();
  return (in(s.k) | in(s.lda) | in(s.ldb) | s.n * out | s.ldd * out) % 16 == 0;
}

// The peak times what the library's best products reach of it, times the useful part of this one's
// tiles, times `share`, after a kernel's start.
inline Law law_of_tiles(const Bench& bench, const Gemm& gemm, double share = 1) {
  const GemmShape& shape = gemm.shape();
  const GemmChoice& choice = gemm.choice();
  const DeviceSpec& device = bench.device();
  const auto sms = device.find("sm_count"), floor = device.find("kernel_floor_seconds"),
             best = device.find(gemm_efficiency(shape.type, device));
  if (choice.tile_m == 0 || !sms || !floor || !best) return {};
  const double useful =
      tiles::useful_share(static_cast<double>(shape.m), static_cast<double>(shape.n), choice.tile_m,
                          choice.tile_n, *sms);
  return law_after_start(law_of_roof(gemm_roof(shape.type, device), share * *best * useful),
                         shape.flops(), *floor);
}
// Only where rows are aligned, and for tiles large enough that L2 keeps up with them.
inline Law law_of_library(const Bench& bench, const Gemm& gemm) {
  const GemmShape& shape = gemm.shape();
  const GemmChoice& choice = gemm.choice();
  if (shape.type == GemmType::fp32 || !rows_are_aligned(shape) ||
      choice.tile_m * choice.tile_n < 128 * 128)
    return {};
  return law_of_tiles(bench, gemm);
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
  if (choice.candidates > 1) {
    bench.note("algorithm_place", choice.place);
    bench.note("algorithms_tried", choice.candidates);
  }
}

// Has `tune` called once on the row's own operands, before anything is checked, where a library is
// to try its algorithms on them; `d` is what it spoils. Not under a profiler, whose user asked for
// the row's launches and not for those of every algorithm.
template <class Out, class Tune>
void tune_on_operands(Bench& bench, const Output<Out>& d, Tune tune) {
  if (bench.profiled()) return;
  bench.each_set([=, tuned = false]() mutable {
    if (tuned) return;
    tune();
    set_memory(d.data(), poison_byte, d.size() * sizeof(Out));
    tuned = true;
  });
}

// Has the library's fastest algorithm found.
template <class In, class Out>
void tune_first(Bench& bench, Gemm& gemm, const Input<In>& a, const Input<In>& b,
                const Output<Out>& d) {
  tune_on_operands(bench, d, [=, &gemm] { gemm.tune(a.data(), b.data(), d.data()); });
}

// Multiplies and checks a shape that the model computes, not only prices: every dimension as far
// beyond a multiple of 64 as of `shape`. "" or what is wrong.
template <class In, class Out>
std::string check_in_small(const GemmShape& shape) {
  const auto small = [](std::size_t n) { return 64 + n % 64; };
  const auto same = shape.b_is_k_by_n ? GemmShape::textbook : GemmShape::dense;
  GemmShape s = same(shape.type, small(shape.m), small(shape.n), small(shape.k));
  s.lda += shape.lda - shape.k;
  s.ldb += shape.ldb - (shape.b_is_k_by_n ? shape.n : shape.k);
  s.ldd += shape.ldd - shape.n;
  const DeviceBuffer<In> a(s.m * s.lda), b(s.b_elements());
  const DeviceBuffer<Out> d(s.m * s.ldd);
  const Generator<In> of_a{1}, of_b{2};
  fill_random(a.data(), a.size(), of_a);
  fill_random(b.data(), b.size(), of_b);
  d.set(poison_byte);
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

// The same of a kernel of ours, whose blocks make tiles of tile_m x tile_n elements.
template <class In, class Out>
void verify_own_product(Bench& bench, const GemmShape& shape, const Input<In>& a,
                        const Input<In>& b, const Output<Out>& d, std::size_t tile_m,
                        std::size_t tile_n) {
  bench.check([=](bool only_written) {
    return only_written
               ? check_written_tiles(shape, d.data(), a.values(), b.values(), tile_m, tile_n)
               : check_product(shape, a.data(), b.data(), d.data(), a.values(), b.values());
  });
}

}  // namespace gpubench
