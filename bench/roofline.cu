// roofline: memory-bound or compute-bound, and where is the ridge point?
//
// Expected  The rate is min(peak, arithmetic intensity x bandwidth). Up to the ridge point, FLOP/s
//           grow in proportion to the FMAs per element while the time stays that of a copy. Beyond
//           it, FLOP/s are flat and the time grows. The ridge point is where the two roofs meet, at
//           peak / bandwidth: on an H200 near 16 FLOP per byte in fp32, near 8 in fp64 and near 31
//           in fp16x2. Each of these is at 62 FMAs per element, because an fp64 element is twice as
//           large and an fp16x2 FMA computes two halves.
// Units     eighths [FMAs per element x 8]. An FMA is two FLOPs, or four in fp16x2, where an
//           element is a pair of halves. Every row reads 2^24 elements and writes as many.
// Confirm   ncu --metrics sm__sass_thread_inst_executed_op_ffma_pred_on.sum,dram__bytes.sum
//           (op_dfma, op_hfma for fp64, fp16x2)
#include <algorithm>

#include "harness/bench/bench.hpp"
#include "kernels/roofline.cuh"

namespace {

using namespace roofline;

constexpr std::size_t n = std::size_t{1} << 24;
constexpr unsigned blocks = n / elements_a_block;
// From here on a row is far enough beyond any device's knee to be a measurement of its peak.
constexpr unsigned first_measuring = 4096;

// Number: what inputs hold and results are; Element: what an FMA works on; Vector: what one load
// brings.
template <class Number, class Element, class Vector>
void chains_of(Bench& bench) {
  constexpr unsigned numbers = sizeof(Element) / sizeof(Number);
  const std::string& dtype = bench.axis("dtype");
  const auto eighths = bench.arg<unsigned>("eighths");
  const double bytes = 2.0 * n * sizeof(Element);
  const double flops = 2.0 * n * numbers * eighths / 8;
  const auto in = bench.input<Number>(n * numbers);
  const auto out = bench.output<Number>(n * numbers);
  constexpr unsigned lanes = sizeof(Vector) / sizeof(Element);
  bench.verify(out, ExpectedChain<decltype(in.values())>{in.values(), numbers, lanes, eighths},
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
    launch(roofline::chains<Element, Vector>, blocks, threads, 0, s,
           reinterpret_cast<const Element*>(in.data()), reinterpret_cast<Element*>(out.data()),
           eighths);
  });
}

void chains(Bench& bench) {
  const std::string& dtype = bench.axis("dtype");
  return dtype == "fp16x2" ? chains_of<__half, __half2, uint4>(bench)
         : dtype == "fp32" ? chains_of<float, float, float4>(bench)
                           : chains_of<double, double, double2>(bench);
}
GPU_BENCHMARK(roofline, chains)
    ->Axis("dtype", {"fp32"})
    ->ArgName("eighths [FMAs per element x 8]", {1, 16384})
    ->Each({1, 16, 256, 16384})
    ->Rest(Suite::standard)
    ->Axis("dtype", {"fp64"})
    ->Each({1, 16384})
    ->Rest(Suite::full)
    ->Axis("dtype", {"fp32", "fp64", "fp16x2"})
    ->Range(1, 16384);

}  // namespace
