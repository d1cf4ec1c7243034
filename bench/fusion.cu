// fusion: what does fusing kernels save?
//
// Expected  Time follows bytes, not FLOPs. Bias, GELU, dropout and residual move nine arrays as
//           four kernels, but only three as one kernel. So the fused kernel takes a third of the
//           time for the same arithmetic. A plain addition also moves three arrays, and takes just
//           as long although it computes next to nothing. A graph of the four kernels saves
//           launches, not bytes, so it helps only small arrays. If an array stays in L2 between two
//           kernels (2 x size fits), its trips to DRAM are saved as well, and launches soon decide
//           the time; such rows have no law. In bf16, the same values take half the bytes.
// Units     size [bytes of one array]. Useful bytes are the three arrays that every variant needs.
//           fp32_peak_fraction is the share of the device's fp32 peak that `add` uses.
// Confirm   ncu --metrics dram__bytes.sum,sm__inst_executed_pipe_xu.sum
#include <map>

#include "harness/bench/bench.hpp"
#include "harness/cuda/graph.hpp"
#include "kernels/fusion.cuh"

namespace {

using namespace fusion;

// A result of the chain is off by a rounding of each of its three intermediates (relative to 2 at
// most, the last one scaled) and one of its own; fp32's tanhf adds a few units in the last place.
template <class T>
constexpr Tolerance tolerance = sizeof(T) == 2 ? Tolerance{0x1p-8, 0x1p-6} : Tolerance{1e-6, 1e-6};

// For rows in which bytes, not launches, take the time.
Law law_of(const Bench& bench, bool chained, double size) {
  const auto floor = bench.device().find("kernel_floor_seconds");
  const auto l2_bytes = bench.device().find("l2_bytes");
  const auto l2_rate = bench.device().find("l2_bytes_per_second");
  if (!floor || !l2_bytes || !l2_rate || 2 * size / *l2_rate < *floor) return {};
  const bool stays = 2 * size <= *l2_bytes;
  if (chained && !stays && size < *l2_bytes) return {};  // a part stays: nobody knows which
  return [=](const Roofs& roofs) {
    return useful_rate({roofs.at("dram"), roofs.at("l2"), *floor}, size, chained, stays);
  };
}

// `adds`: a plain addition instead of the chain.
template <class T, bool adds>
void way(Bench& bench) {
  const std::string by = adds ? "add" : bench.axis("by");
  const auto size = bench.arg<double>("size");
  const std::size_t n = bench.arg<std::size_t>("size") / sizeof(T);
  const auto in = bench.input<T>(n), bias = bench.input<T>(columns), residual = bench.input<T>(n);
  const bool chained = by == "kernels" || by == "graph";
  const auto between = bench.output<T>(chained ? n : 0), out = bench.output<T>(n);
  if constexpr (adds) {
    bench.verify(out, ExpectedSum{in.values(), residual.values()});
  } else {
    const ExpectedChain expected{in.values(), bias.values(), residual.values(), columns, chained};
    bench.verify(out, expected, tolerance<T>);
  }
  const auto packs = static_cast<unsigned>(n / Pack<T>::size);
  const unsigned blocks = (packs + threads - 1) / threads;
  const auto map = [&](cudaStream_t s, const T* from, T* to, auto... step) {
    launch(fusion::map<T, decltype(step)...>, blocks, threads, 0, s, from, to, packs, step...);
  };
  const auto chain = [&](cudaStream_t s) {
    map(s, in, between, AddBias<T>{bias});
    map(s, between, between, Gelu<T>{});
    map(s, between, between, Dropout<T>{});
    map(s, between, out, Add<T>{residual});
  };
  std::map<const T*, gpubench::ExecutableGraph> graphs;  // by the set of buffers
  if (by == "graph") bench.each_set([&] { graphs.emplace(out.data(), chain); });
  bench.work({.useful_bytes = arrays_of_fused * size,
              .law = law_of(bench, chained, size),
              .law_tolerance = chained ? 0.3 : 0.1});  // launches in a row cost less than alone
  bench.run([&](cudaStream_t s) {
    if (adds) return map(s, in, out, Add<T>{residual});
    if (by == "graph") return graphs.at(out.data()).launch(s);
    if (chained) return chain(s);
    map(s, in, out, AddBias<T>{bias}, Gelu<T>{}, Dropout<T>{}, Add<T>{residual});
  });
  if (const auto peak = bench.device().find("fp32_flops_per_second"); adds && peak) {
    bench.counter("fp32_peak_fraction", static_cast<double>(n) / bench.seconds() / *peak);
  }
}

constexpr std::int64_t mebi = 1 << 20;
void fp32(Registration* rows) {
  rows->ArgName("size [bytes]", {mebi / 16, 4096 * mebi, mebi / 16});
  rows->Axis("dtype", {"fp32"})->Each({mebi, 256 * mebi});
}
void bf16_and_rest(Registration* rows) {
  rows->Rest(Suite::standard)->Axis("dtype", {"bf16"})->Arg(256 * mebi);
  rows->Rest(Suite::full)->Each({mebi / 4, 4 * mebi, 8 * mebi, 32 * mebi, 64 * mebi, 1024 * mebi});
  rows->Rest(Suite::full)
      ->Axis("dtype", {"bf16"})
      ->Each({mebi / 4, mebi, 4 * mebi, 8 * mebi, 16 * mebi, 64 * mebi});
}
GPU_BENCHMARK_OF_TYPE(fusion, chain, way<T, false>)
    ->Axis("by", {"kernels", "graph", "fused"})
    ->Axis<float, __nv_bfloat16>("dtype")
    ->Apply(fp32)
    ->Apply(bf16_and_rest)
    ->Rest(Suite::full)
    ->Arg(16 * mebi);
GPU_BENCHMARK_OF_TYPE(fusion, add, way<T, true>)
    ->Axis<float, __nv_bfloat16>("dtype")
    ->Apply(fp32)
    ->Apply(bf16_and_rest);

}  // namespace
