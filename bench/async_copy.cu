// async_copy: can the next tile load while the current one is processed?
//
// Expected  Little's law, with tiles instead of loads: tiles in flight x bytes per tile = latency x
//           bandwidth. Plain loads keep no tile in flight during the arithmetic, so each tile costs
//           a latency plus its arithmetic, and the memory idles meanwhile. Two stages hide the
//           shorter of the two behind the longer, but neither the first tile of a block nor the
//           reads from shared memory, since a scheduler has only one warp: a B200, whose arithmetic
//           takes as long as its memory, loses a fifth to them. With S stages, S - 1 tiles are in
//           flight. More stages help until these tiles
//           cover DRAM's latency: an H200 needs 12 KB per SM, four stages of 4 KiB or two of 16
//           KiB. There, loads queue for the nearly saturated memory, which costs more than a third
//           of the bandwidth. With twice the bytes in flight, it costs about a quarter. The law is
//           the same for cp.async (each thread copies its share) and bulk copies (one engine does).
// Units     tile [bytes], stages [tiles that fit in shared memory]. Each SM runs one block of 128
//           threads, so nothing else hides the latency. Bytes and FLOPs are the same in every row.
// Confirm   ncu --metrics dram__bytes_read.sum.per_second,smsp__inst_executed_op_ldgsts.sum
#include "kernels/async_copy.cuh"

#include "harness/bench/async_copy/law.hpp"
#include "harness/bench/bench.hpp"

namespace {

using namespace async_copy;

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
              // What a barrier costs beyond the first read after it is left out: of many small
              // tiles up to a quarter of the time.
              .law_tolerance = 0.3});
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
