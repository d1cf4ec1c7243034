// training_step: which of three walls holds up a training step?
//
// Expected  A large step spends most of its time in products, at 35 to 50 % MFU. The rest goes to
//           kernels that move bytes: fusing them, AdamW above all, moves fewer. A small step waits
//           for launches and for the host: a CUDA graph helps, and reading the loss after each step
//           hurts. A slow data loader, or an all-reduce after the backward pass, adds time in which
//           nothing computes; in buckets, the all-reduce hides behind the backward pass. Sharded
//           states send about as many bytes, but each GPU steps only its share of the weights. An
//           odd vocabulary makes the largest products slow. Checkpointing saves activations and
//           computes a third of the products again. Clipping reads all gradients once more, and
//           writes them. Tiled attention saves memory, but no time here: its backward pass computes
//           the scores again. In fp8, the layers' linear products take 60 % of the time, but each
//           operand is first converted, which moves bytes. Each switch moves its own wall.
// Units     with [what differs from the baseline: bf16, separate kernels, standard attention,
//           launches in a stream], hidden [width of the model]. A row's time is that of four steps,
//           step_seconds one's. FLOPs are those of the model, so that mfu is FLOP/s over the data
//           sheet's peak; hfu counts what is computed again too. compute_seconds are the products
//           alone, bandwidth_seconds the other kernels, communication_seconds and starved_seconds
//           what all-reduce and loader add, and overhead_seconds the rest of a step.
// Confirm   nsys profile --trace=cuda --gpu-metrics-devices=0 (which kernels, and which gaps)
#include "kernels/training_step.cuh"

#include <string>
#include <utility>

#include "harness/bench/bench.hpp"
#include "harness/bench/training/row.hpp"

namespace {

using namespace training_step;

template <class T>
void run_row(Bench& bench, Setting setting) {
  constexpr unsigned steps = Loop<T>::steps;
  const Shape whole = shape_of(bench.arg<unsigned>("hidden"), setting.odd_vocabulary);
  Shape shape = whole;
  shape.batch = std::max(1u, whole.batch / setting.switches.parts);
  const gpubench::GpuRanks* const ranks = setting.exchanges ? &bench.ranks(gpus, 1e-3) : nullptr;
  if (setting.switches.shards > 1) setting.switches.shard = unsigned(ranks->rank(0));
  Loop<T> loop(shape, setting, ranks);
  const double flops = shape.flops() * setting.switches.parts;
  if (setting.starved) loop.set_loading_seconds(loading_seconds(bench, setting, flops));
  // Before the row's own kernels, of which the model runs a sample of the blocks.
  std::string wrong;
  bench.each_set([&] { wrong = check_in_small<T>(setting); });
  bench.check([&](bool) { return wrong.empty() ? loop.check_exchange() : wrong; });
  const gpubench::Law law = law_of(bench, setting, loop, flops);
  if (setting.read != Read::never || setting.starved) bench.blocks_host();
  double moved = 0, computed = 0;
  for (const Cost& cost : loop.costs()) {
    moved += cost.bytes;
    computed += cost.flops;
  }
  bench.work(
      {.moved_bytes = steps * moved, .flops = steps * flops, .law = law, .law_tolerance = 0.25});
  bool is_checked = false;
  bench.run([&](cudaStream_t s) { loop.run(s, std::exchange(is_checked, true) ? steps : 1); });
  note_model(bench, shape, setting);
  note_memory(bench, loop.step());
  say_walls(bench, loop, setting);
  const double seconds = bench.seconds() / steps;
  const double tokens = static_cast<double>(shape.tokens()) * setting.switches.parts;
  bench.counter("tokens_per_second", tokens / seconds);
  bench.counter("joules_per_token", bench.joules() / (steps * tokens));
  if (const auto peak =
          bench.device().find(gemm_roof(setting.type, bench.device()) + "_flops_per_second")) {
    bench.counter("mfu", flops / seconds / *peak);
    bench.counter("hfu", computed / seconds / *peak);
  }
}

void step(Bench& bench) {
  const Setting setting = setting_of(bench.axis("with"));
  try {
    setting.type == GemmType::bf16 ? run_row<__nv_bfloat16>(bench, setting)
                                   : run_row<float>(bench, setting);
  } catch (const gpubench::GemmUnavailable& why) {
    bench.skip(why.what());
  }
}
GPU_BENCHMARK(training_step, step)
    ->Axis("with", {"nothing", "fused", "graph", "item"})
    ->ArgName("hidden [elements]")
    ->Arg(256)
    ->Rest(Suite::standard)
    ->Axis("with", {"nothing", "fused_adamw", "starved", "odd_vocabulary", "all_reduce", "buckets"})
    ->Arg(2048)
    ->Rest(Suite::full)
    ->Axis("with", {"tiled", "checkpointing", "clipping", "sharded", "fp8"})
    ->Arg(2048)
    ->Rest(Suite::full)
    ->Axis("with", {"item_every_4", "item_late", "fast_graph", "fast_item", "fast_starved",
                    "accumulation", "fp32", "tf32"})
    ->Arg(256)
    ->Rest(Suite::full)
    ->Axis("with", {"nothing", "fast"})
    ->Each({768, 4096})
    ->Rest(Suite::full)
    ->Axis("with", {"fp8", "fast_fp8"})
    ->Arg(4096);

}  // namespace
