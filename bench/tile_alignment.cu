// tile_alignment: what does an odd dimension cost the Tensor Cores?
//
// Expected  Steps, not slopes. At full speed, matrix rows begin at multiples of 16 bytes (n and k
//           are multiples of 8 in 16-bit types, of 16 in 8-bit types). Other shapes run at the
//           speed of an older kernel with narrow loads. Along m there is nothing to align. A
//           partial tile costs as much as a whole tile, and a partial wave of tiles (one tile per
//           SM) costs as much as a whole wave: this is the sawtooth of `waves`. If matrix rows
//           begin off 16 bytes, padding therefore saves more than it costs (compare penalty with
//           pad_cost): use 50304 instead of 50257. At the edges of a matrix, predicated loads leave
//           lanes idle, and zeros are multiplied with or without padding. `input_gradient` has its
//           weights transposed, so the rows of both operands are odd. Copying such rows to wider
//           ones first
//           (`pad_and_multiply`) pays even if it is done every time. Few rows (`small_m`) wait for
//           the weights, so padding m gains nothing.
// Units     m, n, k [elements]: D[m][n] = sum of A[m][k] * B[n][k], the layout of activations and
//           weights. align [bytes at which matrix rows begin]. `penalty` is the row's time, divided
//           by the time of the same multiplication padded to multiples of 64, minus 1. `pad_cost`
//           is the extra work of that padding, as a fraction. For the suite's own kernels,
//           wasted_fraction is the share of multiplications that involve padding. pads [which
//           operands are copied]. speedup_over_unaligned is the time without the copy, divided by
//           the time with it.
// Confirm   `unit` and `tile` are what the library reports, `kernels` what it launched (align1,
//           ...); ncu --metrics smsp__inst_executed_pipe_tensor.sum, and active threads per load of
//           `edges`
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <optional>

#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_row.hpp"
#include "kernels/tile_alignment.cuh"

namespace {

using namespace tile_alignment;
using gpubench::Gemm;
using gpubench::GemmShape;
using gpubench::GemmType;
using gpubench::Generator;

// Narrow loads feed the Tensor Cores no faster than this, whatever the tile.
Law law_of_narrow_loads(const Bench& bench, const Gemm& gemm) {
  const auto narrow = bench.device().find("gemm_unaligned_efficiency");
  return narrow ? law_of_tiles(bench, gemm, *narrow) : Law();
}

// Memory brings the operands once, or the tiles take longer.
Law law_of_few_rows(const Bench& bench, const Gemm& gemm) {
  const Law tiles = law_of_tiles(bench, gemm);
  if (!tiles) return {};
  return [=, intensity = gemm.shape().flops() / gemm.shape().bytes()](const Roofs& roofs) {
    return std::min(intensity * roofs.at("dram"), tiles(roofs));
  };
}

// What a product promises, and how nearly.
struct Promise {
  Law (*law)(const Bench&, const Gemm&);
  double tolerance;
};
constexpr Promise of_library{gpubench::law_of_library, 0.15}, of_narrow{law_of_narrow_loads, 0.15},
    of_few_rows{law_of_few_rows, 0.45};  // as in gemm_batch, loads and products overlap in part

template <class In, class Out>
void row_of(Bench& bench, const GemmShape& shape, const Promise& promise) {
  const auto up = [](std::size_t n) { return rounded_up(n, 64); };
  const GemmShape padded = GemmShape::dense(shape.type, up(shape.m), up(shape.n), up(shape.k));
  const Gemm gemm = gpubench::gemm_of(bench, shape), even = gpubench::gemm_of(bench, padded);
  const auto a = bench.input<In>(std::max(shape.m * shape.lda, padded.m * padded.lda));
  const auto b = bench.input<In>(std::max(shape.n * shape.ldb, padded.n * padded.ldb));
  const auto d = bench.output<Out>(std::max(shape.m * shape.ldd, padded.m * padded.ldd));
  note(bench, gemm.choice());
  const Law law = promise.law(bench, gemm);
  if (!law && !rows_are_aligned(shape)) {
    bench.note("demonstrates", "rows that do not begin at 16 bytes");
  }
  verify_product(bench, shape, a, b, d);
  bench.work({.moved_bytes = shape.bytes(),
              .flops = shape.flops(),
              .integers = shape.type == GemmType::int8,
              .law = law,
              .law_tolerance = promise.tolerance});
  const auto multiply = [&](cudaStream_t s) { gemm.queue(s, a.data(), b.data(), d.data()); };
  bench.run(multiply);
  bench.note_kernels(multiply);
  if (padded.flops() == shape.flops() && shape.lda == padded.lda) return;
  const double even_seconds =
      bench.time([&](cudaStream_t s) { even.queue(s, a.data(), b.data(), d.data()); });
  bench.counter("penalty", bench.seconds() / even_seconds - 1);
  bench.counter("pad_cost", padded.flops() / shape.flops() - 1);
}

using Shaped = GemmShape (*)(Bench&, GemmType);
template <Shaped shape, const Promise& promise = of_library>
void by_dtype(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  const auto shape_of = [&](GemmType type) { return shape(bench, type); };
  return dtype == "bf16"
             ? row_of<__nv_bfloat16, __nv_bfloat16>(bench, shape_of(GemmType::bf16), promise)
         : dtype == "fp16" ? row_of<__half, __half>(bench, shape_of(GemmType::fp16), promise)
         : dtype == "tf32" ? row_of<float, float>(bench, shape_of(GemmType::tf32), promise)
         : dtype == "fp8"
             ? row_of<__nv_fp8_e4m3, __nv_bfloat16>(bench, shape_of(GemmType::fp8), promise)
             : row_of<std::int8_t, std::int32_t>(bench, shape_of(GemmType::int8), promise);
}

constexpr std::int64_t base = 4032;  // 63 x 64: another 16 begin no tile
std::size_t size_of(const Bench& bench, const char* name) {
  return static_cast<std::size_t>(bench.arg(name));
}
GemmShape odd_m(Bench& bench, GemmType type) {
  return GemmShape::dense(type, size_of(bench, "m"), base, base);
}
GemmShape odd_n(Bench& bench, GemmType type) {
  return GemmShape::dense(type, base, size_of(bench, "n"), base);
}
GemmShape odd_k(Bench& bench, GemmType type) {
  return GemmShape::dense(type, base, base, size_of(bench, "k"));
}
// 4096 tokens by 1024 features: the output layer of GPT-2, and the gradient that it hands back,
// which sums over the vocabulary.
GemmShape vocabulary(Bench& bench, GemmType type) {
  const std::size_t words = size_of(bench, "n");
  return bench.axis("pass") == "forward" ? GemmShape::dense(type, 4096, words, 1024)
                                         : GemmShape::dense(type, 4096, 1024, words);
}
// Few tokens by a layer's weights.
GemmShape small_m(Bench& bench, GemmType type) {
  return GemmShape::dense(type, size_of(bench, "m"), 28672, 8192);
}
GemmShape unaligned(Bench& bench, GemmType type) {
  return GemmShape::dense(type, 4096, 4096, size_of(bench, "k"));
}
GemmShape waves(Bench& bench, GemmType type) {
  return GemmShape::dense(type, size_of(bench, "m"), 4096, 4096);
}
GemmShape leading_dimension(Bench& bench, GemmType type) {
  GemmShape shape = GemmShape::dense(type, 4096, 4096, 4096);
  const std::size_t beyond = size_of(bench, "align") / gemm_operand_bytes(type);
  if (beyond == 0) bench.skip("an element of this type is larger than the alignment");
  shape.lda += beyond;
  shape.ldb += beyond;
  return shape;
}

// Rows of k elements, copied to rows of a multiple of 64 and then multiplied: A alone, as
// activations by weights that were padded once, or both.
void pad_and_multiply(Bench& bench) {
  constexpr std::size_t edge = 4096;
  const std::size_t k = size_of(bench, "k"), ld = rounded_up(k, 64);
  const bool both = bench.axis("pads") == "both";
  const std::size_t ldb = both ? k : ld;
  const GemmShape shape{GemmType::bf16, edge, edge, k, k, ldb, edge};
  const Gemm even = gpubench::gemm_of(bench, GemmShape::dense(GemmType::bf16, edge, edge, ld)),
             odd = gpubench::gemm_of(bench, shape);
  const Padded<Generator<element>> of_a{{1}, edge, k, k}, of_b{{2}, edge, k, ldb};
  const auto a = bench.input<element>(edge * k, of_a), b = bench.input<element>(edge * ldb, of_b);
  const auto wide_a = bench.output<element>(edge * ld),
             wide_b = bench.output<element>(both ? edge * ld : 0);
  const auto d = bench.output<element>(edge * edge);
  note(bench, even.choice());
  bench.verify(wide_a, Padded<Generator<element>>{{1}, edge, k, ld});
  if (both) bench.verify(wide_b, Padded<Generator<element>>{{2}, edge, k, ld});
  bench.check([=, &bench, padded = even.shape()](bool) {
    return bench.priced() ? gpubench::check_in_small<element, element>(padded)
                          : check_product(shape, a.data(), b.data(), d.data(), of_a, of_b);
  });
  const double copied = (both ? 2 : 1) * static_cast<double>(edge * (k + ld) * sizeof(element));
  Law law;
  if (const Law tiles = law_of_tiles(bench, even)) {
    law = [=, useful = shape.flops(), multiplied = even.shape().flops()](const Roofs& roofs) {
      return useful / (copied / roofs.at("dram") + multiplied / tiles(roofs));
    };
  }
  bench.work({.flops = shape.flops(), .law = law, .law_tolerance = 0.2});  // two or three launches
  const auto widen = [=](cudaStream_t s, const element* from, element* to) {
    launch(pad_rows, static_cast<unsigned>(edge), pad_threads, 0, s, from, to,
           static_cast<unsigned>(k), static_cast<unsigned>(ld));
  };
  bench.run([&](cudaStream_t s) {
    widen(s, a.data(), wide_a.data());
    if (both) widen(s, b.data(), wide_b.data());
    even.queue(s, wide_a.data(), both ? wide_b.data() : b.data(), d.data());
  });
  bench.counter("speedup_over_unaligned", bench.time([&](cudaStream_t s) {
    odd.queue(s, a.data(), b.data(), d.data());
  }) / bench.seconds());
}
GPU_BENCHMARK(tile_alignment, pad_and_multiply)
    ->Axis("pads", {"a", "both"})
    ->ArgName("k [elements]", {1024, 16384})
    ->In(Suite::full)
    ->Each({4033, 8191, 16383});

// An own kernel on matrices of 4096 x k and 1000 x k.
void edges(Bench& bench) {
  bench.needs_capability(8, "mma.sync of bf16");
  const bool pads = bench.axis("edges") == "padded";
  const std::size_t m = 4096, n = 1000, k = size_of(bench, "k");
  const std::size_t rows = pads ? rounded_up(n, tile) : n, ld = pads ? rounded_up(k, depth) : k;
  const Padded<Generator<element>> of_a{{1}, m, k, ld}, of_b{{2}, n, k, ld};
  const auto a = bench.input<element>(m * ld, of_a), b = bench.input<element>(rows * ld, of_b);
  const auto d = bench.output<float>(m * rows);
  const GemmShape shape{GemmType::bf16, m, rows, k, ld, ld, rows};
  const auto [relative, absolute] = gpubench::gemm_tolerance<float>(shape);
  bench.verify(d, gpubench::expected_product<float>(shape, of_a, of_b), {relative, absolute});
  bench.work({.flops = GemmShape::dense(GemmType::bf16, m, n, k).flops()});
  const dim3 grid(static_cast<unsigned>(rounded_up(n, tile) / tile), m / tile);
  const auto kernel = pads         ? multiply<8, false>
                      : k % 8 == 0 ? multiply<8, true>
                                   : multiply<1, true>;
  const auto depth_of_kernel = static_cast<unsigned>(pads ? ld : k);
  bench.run([&, columns = static_cast<unsigned>(rows),
             stride = static_cast<unsigned>(ld)](cudaStream_t s) {
    launch(kernel, grid, threads, 0, s, a.data(), b.data(), d.data(), static_cast<unsigned>(m),
           columns, depth_of_kernel, stride, stride, columns);
  });
  const double multiplied = static_cast<double>(m * rounded_up(n, tile) * rounded_up(k, depth));
  bench.counter("wasted_fraction", 1 - static_cast<double>(m * n * k) / multiplied);
}
GPU_BENCHMARK(tile_alignment, edges)
    ->Axis("edges", {"predicated", "padded"})
    ->ArgName("k [elements]", {64, 4096})
    ->Arg(249)
    ->Rest(Suite::full)
    ->Each({225, 240, 248, 256, 4089, 4096});

// --- the library's rows ---

using Values = std::vector<std::int64_t>;
const std::vector<std::string> other_types{"fp16", "tf32", "fp8", "int8"};

// `some` in bf16 are in the default suite, `all` in all types in the full one.
void rows(Registration* to, const char* argument, Values some, Values all) {
  to->Axis("dtype", {"bf16"})->ArgName(argument)->Each(some)->Rest(Suite::full)->Each(all);
  to->Rest(Suite::full)->Axis("dtype", other_types)->Each(all);
}
const Values off = gpubench::dense_range(base, base + 16);
const Values off_and_aligned = {base, base + 1, base + 7, base + 8};
GPU_BENCHMARK_AS(tile_alignment, odd_m, by_dtype<odd_m>)
    ->Apply(rows, "m [elements]", {base, base + 1}, off)
    ->Takes("m", {1024, 16384});
GPU_BENCHMARK_AS(tile_alignment, odd_n, by_dtype<odd_n>)
    ->Apply(rows, "n [elements]", {base, base + 1, base + 8}, off)
    ->Takes("n", {1024, 16384});
GPU_BENCHMARK_AS(tile_alignment, odd_k, by_dtype<odd_k>)
    ->Apply(rows, "k [elements]", off_and_aligned, off)
    ->Takes("k", {1024, 16384});
GPU_BENCHMARK_AS(tile_alignment, leading_dimension, by_dtype<leading_dimension>)
    ->Apply(rows, "align [bytes]", {2, 16}, {2, 4, 8, 16});
GPU_BENCHMARK_AS(tile_alignment, small_m, by_dtype<small_m, of_few_rows>)
    ->Axis("dtype", {"bf16", "fp8"})
    ->ArgName("m [elements]", {1, 256})
    ->In(Suite::full)
    ->Each({1, 8, 16, 64, 65, 128, 129});
GPU_BENCHMARK_AS(tile_alignment, unaligned, by_dtype<unaligned, of_narrow>)
    ->Axis("dtype", {"bf16"})
    ->ArgName("k [elements]", {1024, 16384})
    ->In(Suite::full)
    ->Each({2047, 4095, 8191, 16383});
GPU_BENCHMARK_AS(tile_alignment, waves, by_dtype<waves>)
    ->Apply(rows, "m [elements]", {2048, 2304}, gpubench::dense_range(256, 4352, 256))
    ->Takes("m", {1024, 16384});

void vocabularies(Registration* to) {
  to->Axis("dtype", {"bf16"})->ArgName("n [elements]", {8192, 262144});
  for (const char* pass : {"forward", "input_gradient"}) {
    to->Rest(Suite::standard)->Axis("pass", {pass})->Each({50257, 50304});
    to->Rest(Suite::full)->Axis("pass", {pass})->Arg(50264);  // the next whole row of 16 bytes
    to->Rest(Suite::full)
        ->Axis("dtype", other_types)
        ->Axis("pass", {pass})
        ->Each({50257, 50304, 50264});
  }
}
GPU_BENCHMARK_AS(tile_alignment, vocabulary, by_dtype<vocabulary>)->Apply(vocabularies);

}  // namespace
