// The rows of compute_peak: kernel, check and expected rate of each.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "harness/bench/bench.hpp"
#include "harness/bench/block_scales.hpp"
#include "harness/bench/observed_peak.hpp"
#include "harness/bench/scaled_tcgen05.hpp"
#include "harness/bench/tcgen05.hpp"
#include "harness/bench/wgmma.hpp"
#include "harness/platform/gemm.hpp"
#include "kernels/compute_peak.cuh"
#include "kernels/compute_peak/scaled_mma.cuh"
#include "kernels/compute_peak/scaled_tcgen05.cuh"
#include "kernels/compute_peak/scaled_tcgen05_pair.cuh"
#include "kernels/compute_peak/tcgen05.cuh"
#include "kernels/compute_peak/tcgen05_pair.cuh"

namespace compute_peak::rows {

using gpubench::ObservedPeak;

// A kernel of so many threads per block, which run alone or in clusters.
struct Shape {
  unsigned blocks_an_sm, threads;
  std::size_t shared_bytes = 0;
  unsigned cluster = 1;
};

template <class Expected>
void run(Bench& bench, void (*kernel)(double*), const Shape& shape, double flops_per_block,
         Expected expected, const std::string& roof, const ObservedPeak& at_best,
         bool measures_roof = true) {
  const auto blocks = static_cast<unsigned>(at_best.sms) * shape.blocks_an_sm;
  const auto out = bench.output<double>(std::size_t{blocks} * shape.threads);
  bench.verify(out, expected);
  bench.work({.flops = flops_per_block * blocks,
              .integers = roof == "int32" || roof == "tensor_int8",
              .law = at_best.law(peak),
              .law_tolerance = 0.03,
              .measures = measures_roof ? roof : ""});
  bench.run([&](cudaStream_t s) {
    gpubench::launch_by_cluster(kernel, shape.cluster, blocks, shape.threads, shape.shared_bytes, s,
                                out.data());
  });
  at_best.observe(bench);
}

template <class Unit>
void fma_row(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  const char* const figure = dtype == "int32" ? "_ops_per_clock_per_sm" : "_flops_per_clock_per_sm";
  const double flops = double{Unit::flops} * chain_threads * chains_a_thread * steps;
  run(bench, chains<Unit>, {128, chain_threads}, flops, ExpectedChains<Unit>{}, dtype,
      {bench, dtype + figure, 1});
}

// Types with block scales are the library's: their roof has the name that its rows give it.
inline std::string tensor_roof(const Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  for (const gpubench::GemmType type : {gpubench::GemmType::mxfp8, gpubench::GemmType::nvfp4}) {
    if (dtype == gemm_type_name(type)) return gemm_roof(type, bench.device());
  }
  return "tensor_" + dtype;
}

// `share`: of the Tensor Cores' rate; a row that cannot reach all of it measures no roof.
template <class Expected>
void run_tensor(Bench& bench, void (*kernel)(double*), double flops_per_block, Expected expected,
                double share = 1, std::size_t shared_bytes = 0, unsigned cluster = 1) {
  const std::string roof = tensor_roof(bench);
  run(bench, kernel, {64, matrix_threads, shared_bytes, cluster}, flops_per_block, expected, roof,
      {bench, roof + "_flops_per_clock_per_sm", share}, share == 1);
}

template <class Type>
void mma_row(Bench& bench) {
  bench.needs_capability(8, "mma.sync of these shapes");
  const int major = bench.device().compute_capability().first;
  if (std::is_same_v<Type, Fp8> && (major == 9 || major == 10)) {
    bench.skip("the compiler turns mma.sync's fp8 into conversions and products of halves here");
  }
  const double share =
      std::is_same_v<Type, TensorFp64> ? 1 : bench.device().find("mma_sync_efficiency").value_or(1);
  run_tensor(bench, compute_peak::mma<Type>, mma_flops_a_warp<Type> * matrix_threads / warp,
             ExpectedSums<Type>{false}, share);
}

template <class Type>
void scaled_mma_row(Bench& bench) {
  if (const std::string why = gpubench::why_no_block_scaled_mma(); !why.empty()) bench.skip(why);
  run_tensor(bench, scaled_mma<Type>, scaled_flops_a_warp<Type> * matrix_threads / warp,
             ExpectedScaledSums<Type>{});
}

template <class Type>
void wgmma_row(Bench& bench) {
  if (const std::string why = gpubench::why_no_wgmma(); !why.empty()) bench.skip(why);
  run_tensor(bench, compute_peak::wgmma<Type>, wgmma_flops_per_block<Type>,
             ExpectedSums<Type>{true});
}

template <class Type>
void tcgen05_row(Bench& bench) {
  const auto why = gpubench::why_no_tcgen05(std::is_same_v<Type, Int8>);
  if (!why.empty()) bench.skip(why);
  run_tensor(bench, compute_peak::tcgen05<Type>, tcgen05_flops_per_block<Type>,
             ExpectedRows<Type>{}, 1, tcgen05_shared_bytes);
}

// The same rate: NVIDIA publishes no other for a pair than for its two SMs. Blocks that have no
// room for their sums would wait for columns of two SMs at once: no more are resident than have it.
template <class Type>
void tcgen05_pair_row(Bench& bench) {
  const auto why = gpubench::why_no_tcgen05(std::is_same_v<Type, Int8>);
  if (!why.empty()) bench.skip(why);
  run_tensor(bench, compute_peak::tcgen05_pair<Type>, pair_flops_per_block<Type>,
             ExpectedPairRows<Type>{}, 1, gpubench::shared_bytes_for(2), 2);
}

template <class Type>
void needs_scaled_tcgen05(const Bench& bench) {
  const std::string why = gpubench::why_no_scaled_tcgen05(std::is_same_v<Type, Nvfp4>);
  if (!why.empty()) bench.skip(why);
}

template <class Type>
void scaled_tcgen05_row(Bench& bench) {
  needs_scaled_tcgen05<Type>(bench);
  run_tensor(bench, scaled_tcgen05<Type>, scaled_tcgen05_flops_per_block<Type>,
             ExpectedScaledRows<Type>{}, 1, scaled_shared_bytes);
}

template <class Type>
void scaled_tcgen05_pair_row(Bench& bench) {
  needs_scaled_tcgen05<Type>(bench);
  run_tensor(bench, scaled_tcgen05_pair<Type>, scaled_pair_flops_per_block<Type>,
             ExpectedScaledPairRows<Type>{}, 1, gpubench::shared_bytes_for(2), 2);
}

}  // namespace compute_peak::rows
