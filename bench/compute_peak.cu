// compute_peak: how high is the roof of arithmetic?
//
// Expected  At least 98 % of operations per clock and SM x SMs x the observed clock: there is
//           nothing to wait for but arithmetic, and a loop of hundreds of multiply-adds has three
//           other instructions. The data sheet's peak may be another one, at another clock. On
//           Hopper mma.sync gets about two thirds of what wgmma gets from the same Tensor Cores.
// Units     dtype of the factors; sums are fp32, for int8 int32, for fp64 fp64. A multiply-add is
//           two operations, for int32 (IMAD) one. 128 blocks of 256 threads per SM for `fma`, 64
//           blocks of 128 for the others.
// Confirm   ncu --metrics sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active (fp64, fp16,
//           alu; tensor: sm__inst_executed_pipe_tensor)
#include "kernels/compute_peak.cuh"

#include <memory>

#include "harness/bench/bench.hpp"

namespace {

using namespace compute_peak;
using gpubench::Bench;
using gpubench::Law;
using gpubench::Roofs;

// The peak by the device's figures and the clock at which the row ran, which is known at its end.
struct Peak {
  std::shared_ptr<double> clock = std::make_shared<double>(0);
  double rate = 0, sms = 0;

  Peak(const Bench& bench, const std::string& figure, double fraction)
      : rate(fraction * bench.device()[figure]), sms(bench.device()["sm_count"]) {
    *clock = bench.device()["sm_clock_hz"];
  }
  Law law() const {
    return [*this](const Roofs&) { return peak(rate, sms, *clock); };
  }
  void observe(const Bench& bench) const {
    const auto& counters = bench.row().counters;
    if (const auto seen = counters.find("sm_clock_hz"); seen != counters.end()) {
      *clock = seen->second;
    }
  }
};

template <class Expected>
void run(Bench& bench, void (*kernel)(double*), unsigned blocks_an_sm, unsigned threads,
         double flops_a_block, Expected expected, const std::string& roof, const Peak& at_best) {
  const auto blocks = static_cast<unsigned>(at_best.sms) * blocks_an_sm;
  const auto out = bench.output<double>(std::size_t{blocks} * threads);
  bench.verify(out, expected);
  bench.work({.flops = flops_a_block * blocks,
              .law = at_best.law(),
              .law_tolerance = 0.03,
              .measures = roof});
  bench.run([&](cudaStream_t s) { launch(kernel, blocks, threads, 0, s, out.data()); });
  at_best.observe(bench);
}

template <class Unit>
void fma_of(Bench& bench, const std::string& figure) {
  const double flops = double{Unit::flops} * chain_threads * chains_a_thread * steps;
  run(bench, chains<Unit>, 128, chain_threads, flops, ExpectedChains<Unit>{}, bench.axis("dtype"),
      {bench, figure, 1});
}
void fma(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  const std::string figure = dtype + "_flops_per_clock_per_sm";
  return dtype == "fp32"     ? fma_of<Fp32>(bench, figure)
         : dtype == "fp64"   ? fma_of<Fp64>(bench, figure)
         : dtype == "fp16x2" ? fma_of<Fp16x2>(bench, figure)
         : dtype == "bf16x2" ? fma_of<Bf16x2>(bench, figure)
                             : fma_of<Int32>(bench, "int32_ops_per_clock_per_sm");
}
GPU_BENCHMARK(compute_peak, fma)
    ->Axis("dtype", {"fp32", "fp64", "fp16x2", "int32", "bf16x2"})
    ->ForRoofs();

template <class Type>
void mma_of(Bench& bench, const std::string& roof, double fraction) {
  run(bench, compute_peak::mma<Type>, 64, matrix_threads,
      mma_flops_a_warp<Type> * matrix_threads / warp, ExpectedSums<Type>{false}, roof,
      {bench, roof + "_flops_per_clock_per_sm", fraction});
}
void mma(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  const std::string roof = "tensor_" + dtype;
  const auto [major, minor] = bench.device().compute_capability();
  if (major < 8) bench.skip("mma.sync of these shapes begins at compute capability 8.0");
  if (dtype == "fp8" && (major == 9 || major == 10)) {
    bench.skip("here the compiler makes conversions and products of halves of mma.sync's fp8");
  }
  const double share = bench.device().find("mma_sync_efficiency").value_or(1);
  return dtype == "fp16"   ? mma_of<Fp16>(bench, roof, share)
         : dtype == "bf16" ? mma_of<Bf16>(bench, roof, share)
         : dtype == "tf32" ? mma_of<Tf32>(bench, roof, share)
         : dtype == "fp8"  ? mma_of<Fp8>(bench, roof, share)
         : dtype == "int8" ? mma_of<Int8>(bench, roof, share)
                           : mma_of<TensorFp64>(bench, roof, 1);
}
GPU_BENCHMARK(compute_peak, mma)
    ->Axis("dtype", {"bf16", "fp16", "tf32", "int8", "fp64", "fp8"})
    ->ForRoofs();

template <class Type>
void wgmma_of(Bench& bench, const std::string& roof) {
  // What a GPU has where there is no such instruction is a trap, and that would take every later
  // row with it. It is known by registers that hold no sums.
  constexpr int sums_a_thread = 64 * wgmma_columns / matrix_threads;
  if (!bench.modelled()) {
    cudaFuncAttributes compiled{};
    CUDA_CHECK(cudaFuncGetAttributes(&compiled, compute_peak::wgmma<Type>));
    if (compiled.numRegs < sums_a_thread) {
      bench.skip("compiled for sm_90, and wgmma is of sm_90a: -DCMAKE_CUDA_ARCHITECTURES=90a");
    }
  }
  run(bench, compute_peak::wgmma<Type>, 64, matrix_threads, wgmma_flops_a_block<Type>,
      ExpectedSums<Type>{true}, roof, {bench, roof + "_flops_per_clock_per_sm", 1});
}
void wgmma(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  const std::string roof = "tensor_" + dtype;
  if (bench.device().compute_capability() != std::pair{9, 0}) {
    bench.skip("wgmma is an instruction of compute capability 9.0 alone");
  }
  return dtype == "fp16"   ? wgmma_of<Fp16>(bench, roof)
         : dtype == "bf16" ? wgmma_of<Bf16>(bench, roof)
         : dtype == "tf32" ? wgmma_of<Tf32>(bench, roof)
         : dtype == "fp8"  ? wgmma_of<Fp8>(bench, roof)
                           : wgmma_of<Int8>(bench, roof);
}
GPU_BENCHMARK(compute_peak, wgmma)
    ->Axis("dtype", {"bf16", "fp16", "tf32", "int8", "fp8"})
    ->ForRoofs();

}  // namespace
