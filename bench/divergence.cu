// divergence: what does an `if` cost?
//
// Expected  The time is the sum of all paths that the lanes of a warp take, because the warp runs
//           them one after another. With w paths in a warp, 1/w of the peak remains, down to 1/32.
//           If the same paths are sorted by warp, they cost nothing. A loop runs until its last
//           lane is done: with one busy lane in r, 1/r of the peak remains. One busy warp in r
//           costs nothing by itself. But the places of the finished warps stay empty until the
//           block ends, and the remaining warps may be too few to hide the latency of a
//           multiply-add (an H200 needs 16) and the start of the next block (one more). One busy
//           block in r costs nothing at all, because another block takes the place of each block
//           that ends.
// Units     ways [paths], ratio [one in `ratio` has the work of all]. FLOPs are the same in every
//           row. active_lanes counts the lanes of the multiply-adds.
// Confirm   ncu --metrics smsp__thread_inst_executed_per_inst_executed.ratio
#include "kernels/divergence.cuh"

#include <algorithm>

#include "harness/bench/bench.hpp"

namespace {

using namespace divergence;

constexpr std::size_t n = std::size_t{1} << 23;  // threads
constexpr auto blocks = static_cast<unsigned>(n / threads);

gpubench::Work work(const Law& law) {
  return {
      .flops = 2.0 * n * steps, .access = RowAccess::arithmetic, .law = law, .law_tolerance = 0.15};
}

void branches(Bench& bench) {
  const auto ways = bench.arg<unsigned>("ways");
  const bool sorted = bench.axis("order") == "sorted";
  const auto out = bench.output<float>(n);
  bench.verify(out, ExpectedBranches{ways, sorted});
  bench.work(work(law_of_roof("fp32", 1 / passes(ways, sorted))));
  bench.run([&](cudaStream_t s) {
    launch(divergence::branches, blocks, threads, 0, s, out.data(), n, ways, sorted);
  });
}
GPU_BENCHMARK(divergence, branches)
    ->Axis("order", {"interleaved"})
    ->ArgName("ways [paths]", {1, most_ways})
    ->Each({1, 2, most_ways})
    ->Rest(Suite::full)
    ->Each({4, 8, 16})
    ->Rest(Suite::standard)
    ->Axis("order", {"sorted"})
    ->Arg(32)
    ->Rest(Suite::full)
    ->Axis("order", {"sorted"})
    ->Each({1, 2, 4, 8, 16})
    ->Rest(Suite::full)
    ->Axis("order", {"interleaved", "sorted"})
    ->Each({3, 12, 24});

// What is left of the peak when one in `ratio` has the work of all.
Law trips_law(const Bench& bench, Among among, unsigned ratio) {
  if (among == Among::lanes) return law_of_roof("fp32", 1.0 / ratio);
  if (among == Among::blocks) return law_of_roof("fp32");
  const auto& device = bench.device();
  const auto latency = device.find("fp32_latency_cycles"), clock = device.find("sm_clock_hz"),
             sms = device.find("sm_count");
  if (!latency || !clock || !sms) return {};
  const double turnaround = device.find("block_turnaround_cycles").value_or(0);
  const double resident =
      gpubench::residency(divergence::trips, threads, 0).blocks * threads / warp;
  const double busy = *latency * steps * ratio;  // of a block, in cycles
  const double left =
      *sms * flops_a_second(resident / ratio, *latency / *clock) * busy / (busy + turnaround);
  return [=](const Roofs& roofs) { return std::min(roofs.at("fp32"), left); };
}

void trips(Bench& bench) {
  const std::string& words = bench.axis("among");
  const Among among = words == "lanes"   ? Among::lanes
                      : words == "warps" ? Among::warps
                                         : Among::blocks;
  const auto ratio = bench.arg<unsigned>("ratio");
  const auto out = bench.output<float>(n);
  bench.verify(out, ExpectedTrips{n, among, ratio});
  bench.work(work(trips_law(bench, among, ratio)));
  bench.run([&](cudaStream_t s) {
    launch(divergence::trips, blocks, threads, 0, s, out.data(), n, among, ratio);
  });
}
GPU_BENCHMARK(divergence, trips)
    ->Axis("among", {"lanes"})
    ->ArgName("ratio [one in so many has all the work]")
    ->Each({1, 8})
    ->Rest(Suite::standard)
    ->Axis("among", {"warps", "blocks"})
    ->Arg(8)
    ->Rest(Suite::full)
    ->Each({2, 4, 16, 32})
    ->Rest(Suite::full)
    ->Axis("among", {"warps", "blocks"})
    ->Each({1, 2, 4});

}  // namespace
