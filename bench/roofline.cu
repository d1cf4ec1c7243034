// roofline: memory- or compute-bound?
//
// Expected  min(peak, arithmetic intensity x bandwidth): FLOP/s grow in proportion to the FMAs an
//           element while the time stays that of a copy, and then they are flat while the time
//           grows. The knee is where the two roofs meet, at peak / bandwidth: on an H200 near 16
//           FLOP a byte in fp32 (62 FMAs an element) and near 8 in fp64 (62 again: elements are
//           twice the size).
// Units     eighths [FMAs an element x 8]; an FMA is two FLOPs. Every row reads 2^24 elements and
//           writes as many.
// Confirm   ncu --metrics sm__sass_thread_inst_executed_op_ffma_pred_on.sum,dram__bytes.sum
#include <algorithm>

#include "harness/bench.hpp"
#include "kernels/roofline.cuh"

namespace {

using namespace roofline;
using gpubench::Bench;
using gpubench::Roofs;

constexpr std::size_t n = std::size_t{1} << 24;
constexpr unsigned blocks = n / elements_a_block;
// From here on a row is far enough beyond any device's knee to be a measurement of its peak.
constexpr unsigned first_measuring = 4096;

template <class T, class Vector>
void chains_of(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  const auto eighths = static_cast<unsigned>(bench.arg("eighths"));
  const double bytes = 2.0 * n * sizeof(T);
  const double flops = 2.0 * n * eighths / 8;
  const auto in = bench.input<T>(n);
  const auto out = bench.output<T>(n);
  constexpr unsigned lanes = sizeof(Vector) / sizeof(T);
  bench.verify(out, ExpectedChain<decltype(in.values())>{in.values(), lanes, eighths},
               {.relative = 1e-5});
  bench.work({.useful_bytes = bytes,
              .moved_bytes = bytes,
              .flops = flops,
              .law =
                  [=](const Roofs& roofs) {
                    return std::min(roofs.at(dtype), flops / bytes * roofs.at("dram"));
                  },
              .law_tolerance = 0.25,
              .measures = eighths >= first_measuring ? dtype : ""});
  bench.run([&](cudaStream_t s) {
    launch(roofline::chains<T, Vector>, blocks, threads, 0, s, in.data(), out.data(), eighths);
  });
}

void chains(Bench& bench) {
  return bench.axis("dtype") == "fp32" ? chains_of<float, float4>(bench)
                                       : chains_of<double, double2>(bench);
}
GPU_BENCHMARK(roofline, chains)
    ->Axis("dtype", {"fp32", "fp64"})
    ->ArgName("eighths")
    ->RangeMultiplier(2)
    ->Range(1, 16384);

}  // namespace
