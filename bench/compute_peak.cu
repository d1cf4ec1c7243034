// compute_peak: how close do kernels come to the peak compute rate?
//
// Expected  Except for mma.sync, at least 98 % of the peak, which is operations per clock and SM x
//           SMs x the observed clock. The kernels wait for nothing but arithmetic, and a loop of
//           hundreds of multiply-adds has only three other instructions. The data sheet's peak may
//           differ, because it may assume another clock. On Hopper, mma.sync reaches about two
//           thirds of wgmma's rate; on data-centre Blackwell, a third of tcgen05's (assumed).
// Units     dtype is the type of the factors: mxfp8 and nvfp4 have a scale for each 32 and 16
//           elements along k. Sums are fp32, except int32 for int8 and fp64 for fp64. A
//           multiply-add is two operations, except in int32 (IMAD), where it is one. `fma` runs 128
//           blocks of 256 threads per SM, the other kernels 64 blocks of 128.
// Confirm   ncu --metrics sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active (fp64, fp16,
//           alu; tensor: sm__inst_executed_pipe_tensor)
#include "kernels/compute_peak.cuh"

#include "harness/bench/bench.hpp"
#include "harness/bench/block_scales.hpp"
#include "harness/bench/observed_peak.hpp"
#include "harness/bench/tcgen05.hpp"
#include "harness/bench/wgmma.hpp"
#include "harness/platform/gemm.hpp"
#include "kernels/compute_peak/scaled_mma.cuh"
#include "kernels/compute_peak/scaled_tcgen05.cuh"
#include "kernels/compute_peak/tcgen05.cuh"

namespace {

using namespace compute_peak;
using gpubench::ObservedPeak, gpubench::type;

template <class Expected>
void run(Bench& bench, void (*kernel)(double*), unsigned blocks_an_sm, unsigned threads,
         double flops_a_block, Expected expected, const std::string& roof,
         const ObservedPeak& at_best, bool measures_roof = true, std::size_t shared = 0) {
  const auto blocks = static_cast<unsigned>(at_best.sms) * blocks_an_sm;
  const auto out = bench.output<double>(std::size_t{blocks} * threads);
  bench.verify(out, expected);
  bench.work({.flops = flops_a_block * blocks,
              .integers = roof == "int32" || roof == "tensor_int8",
              .law = at_best.law(peak),
              .law_tolerance = 0.03,
              .measures = measures_roof ? roof : ""});
  bench.run([&](cudaStream_t s) { launch(kernel, blocks, threads, shared, s, out.data()); });
  at_best.observe(bench);
}

template <class Unit>
void fma_of(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  const char* const figure = dtype == "int32" ? "_ops_per_clock_per_sm" : "_flops_per_clock_per_sm";
  const double flops = double{Unit::flops} * chain_threads * chains_a_thread * steps;
  run(bench, chains<Unit>, 128, chain_threads, flops, ExpectedChains<Unit>{}, dtype,
      {bench, dtype + figure, 1});
}
GPU_BENCHMARK_OF_TYPE(compute_peak, fma, fma_of<T>)
    ->Axis("dtype", type<Fp32>("fp32"), type<Fp64>("fp64"), type<Fp16x2>("fp16x2"),
           type<Int32>("int32"), type<Bf16x2>("bf16x2"))
    ->ForRoofs();

// Types with block scales are the library's: their roof has the name that its rows give it.
std::string tensor_roof(const Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  for (const gpubench::GemmType type : {gpubench::GemmType::mxfp8, gpubench::GemmType::nvfp4}) {
    if (dtype == gemm_type_name(type)) return gemm_roof(type, bench.device());
  }
  return "tensor_" + dtype;
}

// `share`: of the Tensor Cores' rate; a row that cannot reach all of it measures no roof.
template <class Expected>
void run_tensor(Bench& bench, void (*kernel)(double*), double flops_a_block, Expected expected,
                double share = 1, std::size_t shared_bytes = 0) {
  const std::string roof = tensor_roof(bench);
  run(bench, kernel, 64, matrix_threads, flops_a_block, expected, roof,
      {bench, roof + "_flops_per_clock_per_sm", share}, share == 1, shared_bytes);
}

template <class Type>
void mma_of(Bench& bench) {
  const auto [major, minor] = bench.device().compute_capability();
  if (major < 8) bench.skip("mma.sync of these shapes needs compute capability 8.0");
  if (std::is_same_v<Type, Fp8> && (major == 9 || major == 10)) {
    bench.skip("the compiler turns mma.sync's fp8 into conversions and products of halves here");
  }
  const double share =
      std::is_same_v<Type, TensorFp64> ? 1 : bench.device().find("mma_sync_efficiency").value_or(1);
  run_tensor(bench, compute_peak::mma<Type>, mma_flops_a_warp<Type> * matrix_threads / warp,
             ExpectedSums<Type>{false}, share);
}
GPU_BENCHMARK_OF_TYPE(compute_peak, mma, mma_of<T>)
    ->Axis("dtype", type<Bf16>("bf16"), type<Fp16>("fp16"), type<Tf32>("tf32"), type<Int8>("int8"),
           type<TensorFp64>("fp64"), type<Fp8>("fp8"))
    ->ForRoofs();

// The rest of the same kernel's rows: types whose blocks along k have scales.
template <class Type>
void scaled_mma_of(Bench& bench) {
  if (const std::string why = gpubench::why_no_block_scaled_mma(); !why.empty()) bench.skip(why);
  run_tensor(bench, compute_peak::scaled_mma<Type>,
             scaled_flops_a_warp<Type> * matrix_threads / warp, ExpectedScaledSums<Type>{});
}
GPU_BENCHMARK_OF_TYPE(compute_peak, mma, scaled_mma_of<T>)
    ->Axis("dtype", type<Mxfp8>("mxfp8"), type<Nvfp4>("nvfp4"))
    ->In(Suite::full)
    ->ForRoofs();

template <class Type>
void wgmma_of(Bench& bench) {
  if (const std::string why = gpubench::why_no_wgmma(); !why.empty()) bench.skip(why);
  run_tensor(bench, compute_peak::wgmma<Type>, wgmma_flops_a_block<Type>, ExpectedSums<Type>{true});
}
GPU_BENCHMARK_OF_TYPE(compute_peak, wgmma, wgmma_of<T>)
    ->Axis("dtype", type<Bf16>("bf16"), type<Fp16>("fp16"), type<Tf32>("tf32"), type<Int8>("int8"),
           type<Fp8>("fp8"))
    ->ForRoofs();

template <class Type>
void tcgen05_of(Bench& bench) {
  const auto why = gpubench::why_no_tcgen05(std::is_same_v<Type, Int8>);
  if (!why.empty()) bench.skip(why);
  run_tensor(bench, compute_peak::tcgen05<Type>, tcgen05_flops_a_block<Type>, ExpectedRows<Type>{},
             1, tcgen05_shared_bytes);
}
GPU_BENCHMARK_OF_TYPE(compute_peak, tcgen05, tcgen05_of<T>)
    ->Axis("dtype", type<Bf16>("bf16"), type<Fp16>("fp16"), type<Tf32>("tf32"), type<Int8>("int8"),
           type<Fp8>("fp8"))
    ->ForRoofs();

template <class Type>
void scaled_tcgen05_of(Bench& bench) {
  if (const std::string why = gpubench::why_no_tcgen05(); !why.empty()) bench.skip(why);
  if (std::is_same_v<Type, Nvfp4> && bench.device().compute_capability() == std::pair(10, 3)) {
    bench.skip("the rate of compute capability 10.3 is that of products of 96 along k, not of 64");
  }
  run_tensor(bench, compute_peak::scaled_tcgen05<Type>, scaled_tcgen05_flops_a_block<Type>,
             ExpectedScaledRows<Type>{}, 1, scaled_shared_bytes);
}
GPU_BENCHMARK_OF_TYPE(compute_peak, tcgen05, scaled_tcgen05_of<T>)
    ->Axis("dtype", type<Mxfp8>("mxfp8"), type<Nvfp4>("nvfp4"))
    ->In(Suite::full)
    ->ForRoofs();

}  // namespace
