// async_copy: can the next tile load while the current one is processed?
//
// Expected  Little's law, with tiles instead of loads: tiles in flight x bytes per tile = latency x
//           bandwidth. Plain loads keep no tile in flight during the arithmetic, so each tile costs
//           a latency plus its arithmetic. Two stages hide the shorter of the two behind the
//           longer. With S stages, S - 1 tiles are in flight. More stages help until these tiles
//           cover DRAM's latency: an H200 needs 12 KB per SM, four stages of 4 KiB or two of 16
//           KiB. There, loads queue for the nearly saturated memory, which costs more than a third
//           of the bandwidth. With twice the bytes in flight, it costs about a quarter. The law is
//           the same for cp.async (each thread copies its share) and bulk copies (one engine does).
// Units     tile [bytes], stages [tiles that fit in shared memory]. Each SM runs one block of 128
//           threads, so nothing else hides the latency. Bytes and FLOPs are the same in every row.
// Confirm   ncu --metrics dram__bytes_read.sum.per_second,smsp__inst_executed_op_ldgsts.sum
#include "kernels/async_copy.cuh"

#include <algorithm>

#include "harness/bench/bench.hpp"
#include "kernels/common/busy_memory.cuh"

namespace {

using namespace async_copy;

constexpr std::size_t bytes = std::size_t{1} << 28;
constexpr auto blocks = static_cast<unsigned>(bytes / block_bytes);

Law little(const Bench& bench, unsigned vectors, unsigned ahead) {
  const auto& device = bench.device();
  const auto latency = device.find("dram_latency_cycles"), clock = device.find("sm_clock_hz"),
             sms = device.find("sm_count"), fma_latency = device.find("fp32_latency_cycles"),
             fp32 = device.find("fp32_flops_per_clock_per_sm");
  // Nobody else works while an SM changes from one block to the next.
  const double turnaround = device.find("block_turnaround_cycles").value_or(0);
  const double queue = device.find("dram_queue_cycles").value_or(0) / std::max(1u, ahead);
  if (!latency || !clock || !sms || !fma_latency || !fp32) return {};
  // The unit's own time for the block's multiply-adds, or that of a thread's four chains.
  const double compute =
      vectors * steps * std::max(2.0 * threads * words_a_vector / *fp32, *fma_latency);
  const double tile_bytes = vectors * row_bytes;
  const double waiting =
      tile_seconds(*latency, compute, ahead) + turnaround * tile_bytes / block_bytes;
  return [=, sms = *sms, clock = *clock](const Roofs& roofs) {
    const double busy = sms * tile_bytes / roofs.at("dram") * clock;
    return sms * tile_bytes / busy_memory::seconds(waiting, busy, queue) * clock;
  };
}

// `kernel` has an SM's shared memory to itself, and `ahead` tiles under way while it computes.
template <class... P, class... A>
void tiles(Bench& bench, unsigned ahead, void (*kernel)(P...), A... further) {
  const auto vectors = bench.arg<unsigned>("tile") / row_bytes;
  const std::size_t shared = gpubench::shared_bytes_for(1);
  const std::size_t needed = barrier_bytes + std::size_t{ahead + 1} * vectors * row_bytes;
  if (needed > shared) {
    bench.skip("needs " + std::to_string(needed) +
               " bytes of shared memory a block, this device has " + std::to_string(shared));
  }
  bench.note("resident_blocks", gpubench::residency(kernel, threads, shared).blocks);
  const auto in = bench.input<float>(bytes / sizeof(float));
  const auto sums = bench.output<float>(std::size_t{blocks} * threads);
  bench.verify(sums, ExpectedSums<decltype(in.values())>{in.values(), vectors});
  bench.work({.useful_bytes = static_cast<double>(bytes),
              .law = little(bench, vectors, ahead),
              // Without a tile under way, it depends on how far the SMs go in step.
              .law_tolerance = ahead == 0 ? 0.35 : 0.3});
  bench.run([&](cudaStream_t s) {
    launch(kernel, blocks, threads, shared, s, reinterpret_cast<const float4*>(in.data()),
           sums.data(), further...);
  });
}

void plain(Bench& bench) {
  gpubench::with_constant<1, 2, 4, 8>(bench.arg("tile") / row_bytes,
                                      [&](auto rows) { tiles(bench, 0, async_copy::plain<rows>); });
}
GPU_BENCHMARK(async_copy, plain)
    ->ArgName("tile [bytes]")
    ->Each({4096, 16384})
    ->Rest(Suite::full)
    ->Each({2048, 8192});

void cp_async(Bench& bench) {
  bench.needs_capability(8, "cp.async");
  const auto vectors = bench.arg<unsigned>("tile") / row_bytes;
  gpubench::with_constant<2, 3, 4>(bench.arg("stages"), [&](auto stages) {
    tiles(bench, stages - 1, async_copy::cp_async<stages>, vectors);
  });
}
GPU_BENCHMARK(async_copy, cp_async)
    ->ArgNames({"tile [bytes]", "stages [tiles in shared memory]"})
    ->ArgsProduct({{4096, 16384}, {2, 4}})
    ->Rest(Suite::full)
    ->ArgsProduct({{2048, 8192, 4096, 16384}, {2, 3, 4}});

void bulk(Bench& bench) {
  bench.needs_capability(9, "cp.async.bulk");
  const auto vectors = bench.arg<unsigned>("tile") / row_bytes;
  const auto stages = bench.arg<unsigned>("stages");
  tiles(bench, stages - 1, async_copy::bulk, vectors, stages);
}
GPU_BENCHMARK(async_copy, bulk)
    ->ArgNames({"tile [bytes]", "stages [tiles in shared memory]"})
    ->ArgsProduct({{4096}, {2, 8}})
    ->ArgsProduct({{16384}, {2, 4}})
    ->Rest(Suite::full)
    ->ArgsProduct({{2048, 4096, 8192, 16384}, {2, 3, 4, 6, 8}});

}  // namespace
