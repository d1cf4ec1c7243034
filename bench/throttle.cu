// throttle: is the GPU throttling, or is the code slow?
//
// Expected  The same pace from the first second to the last. Dense arithmetic draws the most power.
//           If the pace falls with the clock, the driver's reasons say whether a power cap, heat or
//           a hardware brake is the cause. If the pace falls and the clock does not, the cause is
//           the code, or somebody else's work on the machine. Memory traffic hardly follows the SM
//           clock.
// Units     FLOP of bf16 matrix products: `library` has cuBLASLt's, of 8,192 x 8,192, which load
//           the whole chip; `gemm` has operands in registers, by mma.sync, and loads the Tensor
//           Cores alone, on Hopper to two thirds. `stream` has bytes read and written. The row's
//           time is measured as in every row. Then the row is watched for --watch_seconds, which
//           gives the verdict. The model computes the programs, but its clock never falls.
// Confirm   nvidia-smi dmon -s puct at the same time
#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_row.hpp"
#include "kernels/throttle.cuh"

namespace {

using namespace throttle;

void gemm(Bench& bench) {
  const auto [major, minor] = bench.device().compute_capability();
  if (major < 8) bench.skip("mma.sync of bfloat16 needs compute capability 8.0");
  const unsigned blocks = gpubench::residency(multiply, threads, 0).blocks *
                          static_cast<unsigned>(bench.device()["sm_count"]);
  const auto out = bench.output<float>(std::size_t{blocks} * threads);
  const double share = bench.device().find("mma_sync_efficiency").value_or(1);
  bench.verify(out, ExpectedProducts{});
  bench.work(
      {.flops = flops_a_warp * blocks * (threads / warp_lanes),
       .law = [=](const gpubench::Roofs& roofs) { return roofs.at("tensor_bf16") * share; }});
  const auto body = [&](cudaStream_t s) { launch(multiply, blocks, threads, 0, s, out.data()); };
  bench.run(body);
  bench.watch(body);
}
GPU_BENCHMARK(throttle, gemm)->In(Suite::full);

void library(Bench& bench) {
  using element = __nv_bfloat16;
  constexpr std::size_t n = 8192;
  const auto shape = gpubench::GemmShape::dense(gpubench::GemmType::bf16, n, n, n);
  gpubench::Gemm gemm = gpubench::gemm_of(bench, shape);
  const auto a = bench.input<element>(n * n), b = bench.input<element>(n * n);
  const auto d = bench.output<element>(n * n);
  gpubench::tune_first(bench, gemm, a, b, d);
  gpubench::verify_product(bench, shape, a, b, d);
  gpubench::Law law;
  if (const auto share = bench.device().find("gemm_efficiency")) {
    law = gpubench::law_of_roof("tensor_bf16", *share);
  }
  bench.work({.moved_bytes = shape.bytes(), .flops = shape.flops(), .law = law});
  const auto body = [&](cudaStream_t s) { gemm.queue(s, a.data(), b.data(), d.data()); };
  bench.run(body);
  gpubench::note(bench, gemm.choice());
  bench.watch(body);
}
GPU_BENCHMARK(throttle, library)->In(Suite::full);

void stream(Bench& bench) {
  constexpr std::size_t n = std::size_t{1} << 26;
  const auto in = bench.input<copy_words::word>(n);
  const auto out = bench.output<copy_words::word>(n);
  bench.verify(out, in.values());
  const auto& d = bench.device();
  const double best = d["dram_bytes_per_second"] * d["dram_mixed_efficiency"];
  bench.work({.useful_bytes = 2.0 * n * sizeof(copy_words::word),
              .law = [=](const gpubench::Roofs&) { return best; },
              .law_tolerance = 0.15});
  const auto body = [&](cudaStream_t s) {
    launch(copy_words::copy, copy_words::blocks(n), copy_words::threads, 0, s, in.data(),
           out.data(), n);
  };
  bench.run(body);
  bench.watch(body);
}
GPU_BENCHMARK(throttle, stream)->In(Suite::full);

}  // namespace
