// fusion: what does fusing kernels save?
//
// Expected  Time follows bytes, not FLOPs. Bias, GELU, dropout and residual move nine arrays as
//           four kernels, but only three as one kernel. So the fused kernel takes a third of the
//           time for the same arithmetic, as long as a plain addition, which also moves three
//           arrays but computes next to nothing. A graph of the four kernels saves launches, not
//           bytes, so it helps only small arrays. Where an array stays in L2 between two kernels (2
//           x size fits), its trips to DRAM are saved as well, and launches soon decide; those rows
//           have no law. In bf16 the same numbers take half the bytes.
// Units     size [bytes of one array]. Useful bytes are the three arrays that every variant needs.
//           fp32_peak_fraction is the part of the device's fp32 peak that `add` uses.
// Confirm   ncu --metrics dram__bytes.sum,sm__inst_executed_pipe_xu.sum
#include <cuda_bf16.h>

#include <map>

#include "harness/bench/bench.hpp"
#include "harness/cuda/graph.hpp"
#include "kernels/fusion.cuh"

namespace {

using namespace fusion;

// A result of the chain is off by a rounding of each of its three intermediates (relative to 2 at
// most, the last one scaled) and one of its own; fp32's tanhf adds a few units in the last place.
template <class T>
constexpr gpubench::Tolerance tolerance = sizeof(T) == 2 ? gpubench::Tolerance{0x1p-8, 0x1p-6}
                                                         : gpubench::Tolerance{1e-6, 1e-6};

// Of rows in which bytes, not launches, take the time.
gpubench::Law law_of(const Bench& bench, bool chained, double size) {
  const auto floor = bench.device().find("kernel_floor_seconds");
  const auto l2_bytes = bench.device().find("l2_bytes");
  const auto l2_rate = bench.device().find("l2_bytes_per_second");
  if (!floor || !l2_bytes || !l2_rate || 2 * size / *l2_rate < *floor) return {};
  const bool stays = 2 * size <= *l2_bytes;
  if (chained && !stays && size < *l2_bytes) return {};  // a part stays: nobody knows which
  return [=](const Roofs& roofs) {
    const Costs costs{roofs.at("dram"), roofs.at("l2"), *floor};
    const double useful = arrays_of_fused * size;
    return useful / (chained ? chain_seconds(costs, size, stays) : seconds(costs, useful, useful));
  };
}

template <class T>
void way(Bench& bench, const std::string& by) {
  const auto size = static_cast<std::size_t>(bench.arg("size"));
  const std::size_t n = size / sizeof(T);
  const auto in = bench.input<T>(n), bias = bench.input<T>(columns), residual = bench.input<T>(n);
  const bool chained = by == "kernels" || by == "graph";
  const auto between = bench.output<T>(chained ? n : 0);
  const auto out = bench.output<T>(n);
  using Values = decltype(in.values());
  const Values x = in.values(), b = bias.values(), r = residual.values();
  if (by == "add") {
    bench.verify(out, ExpectedSum<Values>{x, r});
  } else if (by == "fused") {
    bench.verify(out, ExpectedChain<float, Values>{x, b, r, columns}, tolerance<T>);
  } else {
    bench.verify(out, ExpectedChain<T, Values>{x, b, r, columns}, tolerance<T>);
  }
  const auto packs = static_cast<unsigned>(n / Pack<T>::size);
  const unsigned blocks = (packs + threads - 1) / threads;
  const auto map = [&](cudaStream_t s, const T* from, T* to, auto... step) {
    launch(fusion::map<T, decltype(step)...>, blocks, threads, 0, s, from, to, packs, step...);
  };
  const Dropout<T> dropout{dropout_seed};
  const auto add_bias = [&] { return AddBias<T>{bias, columns / Pack<T>::size}; };
  const auto chain = [&](cudaStream_t s) {
    map(s, in, between, add_bias());
    map(s, between, between, Gelu<T>{});
    map(s, between, between, dropout);
    map(s, between, out, Add<T>{residual});
  };
  std::map<const T*, gpubench::ExecutableGraph> graphs;  // by the set of buffers
  if (by == "graph") bench.each_set([&] { graphs.emplace(out.data(), chain); });
  bench.work({.useful_bytes = arrays_of_fused * static_cast<double>(size),
              .law = law_of(bench, chained, static_cast<double>(size)),
              .law_tolerance = 0.2});
  bench.run([&](cudaStream_t s) {
    if (by == "add") return map(s, in, out, Add<T>{residual});
    if (by == "fused") return map(s, in, out, add_bias(), Gelu<T>{}, dropout, Add<T>{residual});
    if (by == "graph") return graphs.at(out.data()).launch(s);
    chain(s);
  });
  const auto peak = bench.device().find("fp32_flops_per_second");
  if (by == "add" && peak) {
    bench.counter("fp32_peak_fraction", static_cast<double>(n) / bench.seconds() / *peak);
  }
}

template <class T>
void chain(Bench& bench) {
  way<T>(bench, bench.axis("by"));
}
template <class T>
void add(Bench& bench) {  // a plain addition
  way<T>(bench, "add");
}

constexpr std::int64_t mebi = 1 << 20;
using gpubench::Registration;
void fp32(Registration* rows) {
  rows->ArgName("size [bytes]")->Axis("dtype", {"fp32"})->Each({mebi, 256 * mebi});
}
void bf16_and_rest(Registration* rows) {
  rows->Rest(Suite::standard)->Axis("dtype", {"bf16"})->Arg(256 * mebi);
  rows->Rest(Suite::full)->Each({mebi / 4, 4 * mebi, 8 * mebi, 32 * mebi, 64 * mebi, 1024 * mebi});
  rows->Rest(Suite::full)
      ->Axis("dtype", {"bf16"})
      ->Each({mebi / 4, mebi, 4 * mebi, 8 * mebi, 16 * mebi, 64 * mebi});
}
GPU_BENCHMARK_OF_TYPE(fusion, chain, chain<T>)
    ->Axis("by", {"kernels", "graph", "fused"})
    ->Axis<float, __nv_bfloat16>("dtype")
    ->Apply(fp32)
    ->Rest(Suite::standard)
    ->Axis("by", {"kernels", "fused"})
    ->Arg(16 * mebi)
    ->Apply(bf16_and_rest)
    ->Rest(Suite::full)
    ->Arg(16 * mebi);
GPU_BENCHMARK_OF_TYPE(fusion, add, add<T>)
    ->Axis<float, __nv_bfloat16>("dtype")
    ->Apply(fp32)
    ->Apply(bf16_and_rest);

}  // namespace
