// A layer by our own kernel for few tokens, with weights of each format.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_batch/row.hpp"
#include "harness/bench/gemm_row.hpp"
#include "kernels/gemm_batch.cuh"

namespace gemm_batch {

// Rows of some ten microseconds: before the first loads have come and after the last block has
// begun, memory is idle.
inline constexpr double own_tolerance = 0.35;

// `weights()`: in the set of buffers whose turn it is.
template <class Weights, class X, class Y, class Make>
void run_gemv(gpubench::Bench& bench, const X& x, const Y& y, const Make& weights) {
  const Layer layer = layer_of(bench);
  const auto tokens = bench.arg<double>("m");
  constexpr Bytes bytes = bytes_of<Weights>;
  bench.work(work_of(bench,
                     {tokens, layer_bytes(layer, bytes, tokens), layer_flops(layer, tokens),
                      Weights::unit, Weights::useful_share(tokens), l1_bytes(layer, bytes, tokens)},
                     own_tolerance));
  gpubench::with_constant<1, 2, 4, 8>(bench.arg("m"), [&](auto columns) {
    bench.run([&](cudaStream_t s) {
      gpubench::launch(gemv<Weights, columns>, dim3(1, row_blocks(layer.n)), threads, 0, s,
                       weights(), x.data(), y.data(), layer.n, layer.k);
    });
  });
  note_tokens(bench, tokens);
}

inline void bf16_gemv(gpubench::Bench& bench) {
  const Layer layer = layer_of(bench);
  const gpubench::GemmShape shape = gpubench::GemmShape::dense(
      gpubench::GemmType::bf16, bench.arg<std::size_t>("m"), layer.n, layer.k);
  const auto x = bench.input<__nv_bfloat16>(shape.m * shape.k),
             w = bench.input<__nv_bfloat16>(shape.n * shape.k);
  const auto y = bench.output<__nv_bfloat16>(shape.m * shape.n);
  verify_own_product(bench, shape, x, w, y, shape.m, block_rows);
  run_gemv<Bf16Weights>(bench, x, y, [=] { return Bf16Weights{w.data()}; });
}

inline void int4_gemv(gpubench::Bench& bench) {
  const auto m = bench.arg<std::size_t>("m"), n = bench.arg<std::size_t>("n"),
             k = bench.arg<std::size_t>("k");
  const auto x = bench.input<__half>(m * k);
  const auto words = bench.input<std::uint32_t>(n * k / word_weights);
  const Scales of_groups{1};
  const auto scales = bench.input<__half>(n * k / group, of_groups);
  const auto y = bench.output<__half>(m * n);
  using Expected = ExpectedInt4<gpubench::Generator<__half>, gpubench::Generator<std::uint32_t>,
                                gpubench::Unrounded>;
  bench.verify(y, Expected{x.values(), words.values(), of_groups, n, k},
               {0x1p-11, int4_tolerance(static_cast<double>(k))});
  run_gemv<Int4Weights>(bench, x, y, [=] {
    return Int4Weights{reinterpret_cast<const uint4*>(words.data()), scales.data()};
  });
}

}  // namespace gemm_batch
