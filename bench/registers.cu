// registers: how large a tile should a thread keep in registers?
//
// Expected  If a thread keeps a tile of e x e sums in registers, e^2 multiply-adds need 2e loads,
//           so the same FLOPs take 1/e of the shared-memory traffic. On an H200, shared memory is
//           the limit up to e = 4. At e = 8, the instructions are the only limit. Beyond that the
//           tile no longer fits: 16 x 16 sums need more than the 255 registers that a thread can
//           have. The compiler loads and stores the other values once per step (local_bytes says
//           how many bytes): 128 bytes to L2 and back for every 4 of a thread, even where L1 has
//           room for all of them (measured on an H100). If the same tile is compiled so that more
//           blocks fit on an SM, each thread gets fewer registers: occupancy rises and the rate
//           falls. It falls further if L2 cannot hold the spills of all threads either, because
//           then they go to DRAM and back.
// Units     edge [of a thread's tile], blocks [of 64 threads per SM for which there must be enough
//           registers; shared memory may allow fewer]. FLOPs are the same in every row.
//           loads_per_fma [from shared memory], registers and local_bytes [per thread].
// Confirm   ncu --metrics l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum
#include "kernels/registers.cuh"

#include <algorithm>

#include "harness/bench/bench.hpp"
#include "harness/devices/cache_turns.hpp"

namespace {

using namespace registers;

constexpr std::size_t outputs = std::size_t{1} << 24;  // elements of all tiles

// `spilled` words per thread are loaded and stored in every step, to L2 and back, and to DRAM as
// far as L2 does not hold the frames of all SMs' `resident` threads.
Law tile_law(const Bench& bench, double edge, double spilled, double resident) {
  const auto& device = bench.device();
  const auto clock = device.find("sm_clock_hz"), sms = device.find("sm_count"),
             schedulers = device.find("warp_schedulers_per_sm"),
             requests = device.find("global_requests_per_clock_per_sm"),
             l2_size = device.find("l2_bytes");
  if (!clock || !sms || !schedulers || !requests || !l2_size) return {};
  const double flops = flops_a_step(edge), moved = 2 * spilled;
  const double issued = *schedulers * flops / (instructions_a_step(edge) + moved);
  const double by_clock = *sms * *clock * issued;
  const double from_shared = flops / (loads_a_step(edge) * wavefront_bytes);
  const double by_requests = *sms * *clock * *requests * flops / loads_a_step(edge);
  const double missed = gpubench::missed_in_turn(*sms * resident * spilled * 4, *l2_size);
  return [=](const Roofs& roofs) {
    const double spills =
        missed > 0 ? std::min(roofs.at("l2"), roofs.at("dram") / missed) : roofs.at("l2");
    const double by_spills = moved > 0 ? spills * flops / (moved * wavefront_bytes) : by_clock;
    return std::min(
        {roofs.at("fp32"), roofs.at("shared") * from_shared, by_requests, by_clock, by_spills});
  };
}

template <unsigned edge, unsigned blocks = 1>
void tile_row(Bench& bench) {
  const auto kernel = registers::tile<edge, blocks>;
  constexpr bool may_spill = edge > 8 || blocks > 1;
  const cudaFuncAttributes compiled = bench.compiled(kernel, may_spill);
  const auto found = gpubench::residency(kernel, threads, 0);
  bench.note("resident_blocks", found.blocks);
  bench.note("occupancy", found.occupancy);
  bench.note("loads_per_fma", loads_a_step(edge) / (edge * edge));
  constexpr std::size_t n = outputs / (edge * edge);
  const auto out = bench.output<float>(n);
  bench.verify(out, ExpectedTile{edge});
  bench.work({.flops = 2.0 * outputs * steps,
              .access = RowAccess::shared_load,
              .law = tile_law(bench, edge, static_cast<double>(compiled.localSizeBytes) / 4,
                              double{threads} * found.blocks),
              // Not every word of the compiler's figure is needed in every step.
              .law_tolerance = compiled.localSizeBytes > 0 ? 0.35 : 0.25,
              .law_per_request = 1});
  bench.run([&](cudaStream_t s) {
    launch(kernel, static_cast<unsigned>(n / threads), threads, 0, s, out.data(), n);
  });
}

void tile(Bench& bench) {
  gpubench::with_constant<1, 2, 4, 8, 16>(bench.arg("edge"),
                                          [&](auto edge) { tile_row<edge>(bench); });
}
GPU_BENCHMARK(registers, tile)->ArgName("edge [elements]")->Range(1, 16);

void capped(Bench& bench) {
  gpubench::with_constant<8, 16>(bench.arg("edge"), [&](auto edge) {
    gpubench::with_constant<4, 8, 16>(bench.arg("blocks"),
                                      [&](auto blocks) { tile_row<edge, blocks>(bench); });
  });
}
GPU_BENCHMARK(registers, capped)
    ->ArgNames({"edge [elements]", "blocks [per SM]"})
    ->ArgsProduct({{8, 16}, {8, 16}})
    ->Rest(Suite::full)
    ->ArgsProduct({{8, 16}, {4}});

}  // namespace
