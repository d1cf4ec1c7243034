// A layer by cuBLASLt.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cstddef>

#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_batch/row.hpp"
#include "harness/bench/gemm_row.hpp"
#include "kernels/gemm_batch.cuh"

namespace gemm_batch {

// Where the roofs cross, a product takes up to the sum of both: what is loaded and what is
// multiplied overlap only in part. (272 x 14336 x 4096 in bf16 on a B200 takes 42.6 us, and 35.9 by
// the best of cuBLASLt's kernels, where either roof alone takes 17 to 20: vllm-project/vllm issue
// 35467.)
inline constexpr double library_tolerance = 0.45;

template <class In, gpubench::GemmType type>
void library(gpubench::Bench& bench) {
  const auto m = bench.arg<std::size_t>("m"), n = bench.arg<std::size_t>("n"),
             k = bench.arg<std::size_t>("k");
  const gpubench::GemmShape shape = gpubench::GemmShape::dense(type, m, n, k);
  const gpubench::Gemm gemm = gpubench::gemm_of(bench, shape);
  const auto x = bench.input<In>(m * k), w = bench.input<In>(n * k);
  const auto y = bench.output<__nv_bfloat16>(m * n);
  note(bench, gemm.choice());
  verify_product(bench, shape, x, w, y);
  const auto& device = bench.device();
  const Amount amount{static_cast<double>(m), shape.bytes(), shape.flops(), gemm_roof(type, device),
                      device.find(gpubench::gemm_efficiency(type, device)).value_or(1)};
  gpubench::Work work = work_of(bench, amount, library_tolerance);
  work.moved_bytes = shape.bytes();
  bench.work(work);
  const auto multiply = [&](cudaStream_t s) { gemm.queue(s, x.data(), w.data(), y.data()); };
  bench.run(multiply);
  bench.note_kernels(multiply);
  note_tokens(bench, amount.tokens);
  const auto roofs = device.data_sheet_roofs();
  const auto peak = std::ranges::find(roofs, amount.unit, &gpubench::Roof::name);
  const auto dram = device.reachable_dram();
  if (peak == roofs.end() || !dram) return;
  bench.counter("ridge_tokens",
                ridge(layer_of(bench), {sizeof(In), sizeof(In), sizeof(__nv_bfloat16)}, dram->value,
                      amount.share * peak->value));
}

}  // namespace gemm_batch
