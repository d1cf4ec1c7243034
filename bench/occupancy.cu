// occupancy: how many warps does it take to hide latency?
//
// Expected  Little's law: bytes in flight = latency x bandwidth. The copy gets faster with the
//           number of loads in flight, which is resident warps x loads per warp, until it covers
//           the latency of DRAM. From there on, the curve is flat. An H200 needs about 44 loads per
//           SM: 44 warps with one load each, or 6 with eight. Around that corner, memory is nearly
//           saturated and loads queue for it, which costs a third of the bandwidth. Multiply-adds
//           wait only a few cycles: 16 chains per SM reach the peak of an H200, and four warps (6 %
//           occupancy) are enough if each has four chains. Block size hardly matters. Fewer
//           registers per thread raise the occupancy, until values spill and every access to them
//           goes to memory. One block too many costs a whole wave: 2 waves for the work of 1, 17
//           for that of 16. The achieved occupancy, a mean over the kernel's
//           time, falls with it; the theoretical one does not.
// Units     warps [resident per SM], unroll [loads in flight per thread], ilp [independent chains
//           per thread], block [threads], waves [of blocks that fit at once]. All rows of a kernel
//           have the same bytes or FLOPs, except those of `waves`, whose work grows with its
//           blocks; an SM holds one of them at a time.
// Confirm   ncu --metrics sm__warps_active.avg.per_cycle_active; for achieved_occupancy,
//           sm__warps_active.avg.pct_of_peak_sustained_elapsed
#include "kernels/occupancy.cuh"

#include <algorithm>

#include "harness/bench/bench.hpp"

namespace {

using namespace occupancy;
using gpubench::Residency;

constexpr std::size_t copied = std::size_t{1} << 25;  // elements
constexpr std::size_t computed = std::size_t{1} << 21;
constexpr std::size_t capped_outputs = std::size_t{1} << 19;

void note(Bench& bench, const Residency& found) {
  bench.note("resident_blocks", found.blocks);
  bench.note("occupancy", found.occupancy);
}

// Dynamic shared memory that lets just the row's warps onto an SM; the row ends where this device
// cannot have them.
template <class... P>
std::size_t shared_for_warps(Bench& bench, void (*kernel)(P...), unsigned block) {
  const auto blocks = bench.arg<unsigned>("warps") * warp / block;
  const std::size_t shared = gpubench::shared_bytes_for(blocks);
  const Residency found = gpubench::residency(kernel, block, shared);
  if (found.blocks != blocks) {
    bench.skip("an SM of this device holds " + std::to_string(found.blocks) +
               " of these blocks, not " + std::to_string(blocks));
  }
  note(bench, found);
  return shared;
}

struct Copy {
  static constexpr const char* in_flight = "unroll";

  template <unsigned unroll>
  static void run(Bench& bench, unsigned block) {
    const auto kernel = occupancy::copy<unroll>;
    const std::size_t shared = shared_for_warps(bench, kernel, block);
    const auto in = bench.input<float>(copied);
    const auto out = bench.output<float>(copied);
    bench.verify(out, in.values());
    const double bytes = 2.0 * copied * sizeof(float);
    bench.work({.useful_bytes = bytes,
                .moved_bytes = bytes,
                .law = little(bench, unroll),
                .law_tolerance = 0.4});  // where latency and bandwidth meet, loads queue
    bench.run([&](cudaStream_t s) {
      launch(kernel, static_cast<unsigned>(copied / elements_a_thread / block), block, shared, s,
             in.data(), out.data(), copied);
    });
  }
  static Law little(const Bench& bench, double unroll) {
    const auto& device = bench.device();
    const auto latency = device.find("dram_latency_cycles"), clock = device.find("sm_clock_hz"),
               sms = device.find("sm_count");
    if (!latency || !clock || !sms) return {};
    const auto warps = bench.arg<double>("warps");
    const double in_time = 2 * *sms * bytes_read_a_second(warps, unroll, *latency / *clock);
    return [=](const Roofs& roofs) { return std::min(roofs.at("dram"), in_time); };
  }
};

struct Fma {
  static constexpr const char* in_flight = "ilp";

  template <unsigned ilp>
  static void run(Bench& bench, unsigned block) {
    const auto kernel = occupancy::fma<ilp>;
    const std::size_t shared = shared_for_warps(bench, kernel, block);
    const auto out = bench.output<float>(computed);
    bench.verify(out, ExpectedChains{ilp, fma_steps});
    bench.work({.flops = 2.0 * computed * fma_steps, .law = little(bench, ilp)});
    bench.run([&](cudaStream_t s) {
      launch(kernel, static_cast<unsigned>(computed / block), block, shared, s, out.data(),
             computed);
    });
  }
  static Law little(const Bench& bench, double ilp) {
    const auto& device = bench.device();
    const auto latency = device.find("fp32_latency_cycles"), clock = device.find("sm_clock_hz"),
               sms = device.find("sm_count"), schedulers = device.find("warp_schedulers_per_sm");
    if (!latency || !clock || !sms || !schedulers) return {};
    return [=, warps = bench.arg<double>("warps")](const Roofs& roofs) {
      return *sms *
             flops_a_second(warps, ilp, *latency / *clock, roofs.at("fp32") / *sms, *schedulers);
    };
  }
};

template <class Kernel>
void in_blocks_of(Bench& bench, unsigned block) {
  gpubench::with_constant<1, 2, 4, 8>(bench.arg(Kernel::in_flight), [&](auto in_flight) {
    Kernel::template run<in_flight>(bench, block);
  });
}
template <class Kernel>
void plane(Bench& bench) {
  in_blocks_of<Kernel>(bench, 128);
}
template <class Kernel>
void by_block(Bench& bench) {
  in_blocks_of<Kernel>(bench, bench.arg<unsigned>("block"));
}

constexpr const char* warps_axis = "warps [resident per SM]";
constexpr const char* unroll_axis = "unroll [loads in flight per thread]";
constexpr const char* ilp_axis = "ilp [chains per thread]";
constexpr const char* block_axis = "block [threads]";

void rest_of_plane(Registration* rows) {
  rows->Rest(Suite::full)->ArgsProduct({gpubench::dense_range(4, 64, 4), {1, 2, 4, 8}});
}
void blocks(Registration* rows) {
  rows->In(Suite::full)
      ->ArgsProduct({{32}, {1, 2, 4, 8, 16, 32}, {1, 2, 4, 8}})
      ->ArgsProduct({{64, 128, 256, 512, 1024}, {32, 64}, {1, 2, 4, 8}});
}
GPU_BENCHMARK_AS(occupancy, copy, plane<Copy>)
    ->ArgNames({warps_axis, unroll_axis})
    ->ArgsProduct({{4, 16, 64}, {1, 2, 4, 8}})
    ->Args({32, 1})
    ->Apply(rest_of_plane);
GPU_BENCHMARK_AS(occupancy, copy_by_block, by_block<Copy>)
    ->ArgNames({block_axis, warps_axis, unroll_axis})
    ->Apply(blocks);
GPU_BENCHMARK_AS(occupancy, fma, plane<Fma>)
    ->ArgNames({warps_axis, ilp_axis})
    ->ArgsProduct({{4, 64}, {1, 4}})
    ->Apply(rest_of_plane);
GPU_BENCHMARK_AS(occupancy, fma_by_block, by_block<Fma>)
    ->ArgNames({block_axis, warps_axis, ilp_axis})
    ->Apply(blocks);

// One block per SM at a time, so that the last one runs alone where there is one too many.
void waves(Bench& bench) {
  const std::size_t shared = gpubench::shared_bytes_for(1);
  const Residency found = gpubench::residency(wave, wave_threads, shared);
  note(bench, found);
  const std::size_t at_once = std::size_t{found.blocks} * gpubench::sm_count();
  const std::size_t blocks =
      bench.arg<std::size_t>("waves") * at_once + bench.arg<std::size_t>("extra");
  const auto out = bench.output<float>(blocks * wave_threads);
  const auto of_two_waves = bench.output<float>(2 * at_once * wave_threads);
  bench.verify(out, ExpectedChains{wave_ilp, wave_steps});
  bench.work({.flops = 2.0 * static_cast<double>(out.size()) * wave_steps,
              .law = law_of_roof("fp32", wave_efficiency(blocks, at_once))});
  const auto launch_of = [=](std::size_t count, const gpubench::Output<float>& to) {
    return [=](cudaStream_t s) {
      launch(wave, static_cast<unsigned>(count), wave_threads, shared, s, to.data());
    };
  };
  bench.run(launch_of(blocks, out));
  // A second wave adds what a block lasts: each is resident for so long.
  const double of_a_block = bench.time(launch_of(2 * at_once, of_two_waves)) -
                            bench.time(launch_of(at_once, of_two_waves));
  bench.counter("achieved_occupancy", found.occupancy * static_cast<double>(blocks) /
                                          static_cast<double>(at_once) * of_a_block /
                                          bench.seconds());
}
GPU_BENCHMARK(occupancy, waves)
    ->ArgNames({"waves [of one block per SM]", "extra [blocks]"})
    ->In(Suite::full)
    ->ArgsProduct({{1, 2, 4, 8, 16}, {0, 1}});

template <unsigned values, unsigned blocks>
void capped_row(Bench& bench) {
  const auto kernel = capped<values, blocks>;
  bench.compiled(kernel);
  note(bench, gpubench::residency(kernel, capped_threads, 0));
  const auto out = bench.output<float>(capped_outputs);
  bench.verify(out, ExpectedChains{values, capped_steps});
  bench.work({.flops = 2.0 * capped_outputs * capped_steps});
  bench.run([&](cudaStream_t s) {
    launch(kernel, static_cast<unsigned>(capped_outputs / capped_threads), capped_threads, 0, s,
           out.data(), capped_outputs);
  });
}
void registers(Bench& bench) {
  gpubench::with_constant<16, 64, 192>(bench.arg("values"), [&](auto values) {
    gpubench::with_constant<1, 4>(bench.arg("blocks"),
                                  [&](auto blocks) { capped_row<values, blocks>(bench); });
  });
}
GPU_BENCHMARK(occupancy, registers)
    ->ArgNames({"values [kept per thread]", "blocks [per SM]"})
    ->ArgsProduct({{16, 192}, {1}})
    ->Args({192, 4})
    ->Rest(Suite::full)
    ->ArgsProduct({{16, 64}, {1, 4}});

}  // namespace
