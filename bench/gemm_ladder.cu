// gemm_ladder: how does tiling turn a memory-bound multiplication into a compute-bound one?
//
// Expected  each rung adds one idea to the one before, and what bounds it moves from L1 to shared
//           memory to the arithmetic. `naive`: a warp's load of A is of 32 rows, and all in one
//           bank: 33 passes of L1 for a multiply-add a lane. `coalesced`: neighbours along a row
//           of D, 2 passes, and 132 bytes from L2. `shared_tile`: 2 of shared memory, and 8 bytes.
//           `register_1d`: eight elements a thread, 9 loads for 8 multiply-adds. `register_2d`:
//           8 x 8 elements, 16 loads for 64. `vectorised`: 4 loads of 16 bytes for 64: the
//           multiply-adds bind. `double_buffered`: and the next tile comes meanwhile.
// Units     m = n = k [elements]. arithmetic_intensity: FLOP for each byte that blocks ask memory
//           for, whichever cache has it: 0.25 without tiles, mn / 2(m + n) with tiles of m x n.
// Confirm   ncu --metrics sm__inst_executed_pipe_fma.sum,dram__bytes.sum,
//           sm__throughput.avg.pct_of_peak_sustained_elapsed
#include <algorithm>
#include <cmath>

#include "harness/bench.hpp"
#include "harness/gemm_row.hpp"
#include "kernels/gemm_ladder.cuh"

namespace {

using namespace gemm_ladder;
using gpubench::Bench;
using gpubench::Gemm;
using gpubench::GemmShape;
using gpubench::GemmType;
using gpubench::Law;
using gpubench::Roofs;
using gpubench::Suite;

std::size_t size_of(const Bench& bench) { return static_cast<std::size_t>(bench.arg("n")); }

void needs_multiples(const Bench& bench, const Tiles& tiles, std::size_t n) {
  const unsigned unit = std::max({tiles.block_m, tiles.block_n, tiles.block_k});
  if (tiles.any_size || n % unit == 0) return;
  bench.skip("this rung multiplies whole tiles: n must be a multiple of " + std::to_string(unit));
}

// What is left of a rate where some SMs have a block more to do than others.
double share_of_waves(const Bench& bench, const Tiles& tiles, std::size_t n) {
  const double sms = bench.device()["sm_count"];
  const double blocks = std::ceil(static_cast<double>(n) / tiles.block_m) *
                        std::ceil(static_cast<double>(n) / tiles.block_n);
  return blocks / (std::ceil(blocks / sms) * sms);
}

Law law_of(const Bench& bench, const Tiles& tiles, const Step& step, std::size_t n) {
  const auto& device = bench.device();
  const auto sms = device.find("sm_count"), clock = device.find("sm_clock_hz"),
             schedulers = device.find("warp_schedulers_per_sm");
  if (!sms || !clock || !schedulers) return {};
  const double issued = *schedulers * *clock * *sms, share = share_of_waves(bench, tiles, n);
  constexpr double wavefront_bytes = 128;
  const char* const moved = tiles.block_k == 1 ? "l1" : "shared";
  return [=](const Roofs& roofs) {
    const Rates rates{issued, roofs.at(moved) / wavefront_bytes, roofs.at("l2")};
    return share * std::min(step_flops(step, rates), roofs.at("fp32"));
  };
}

// `goes_down`: neighbouring blocks are those along a column of D.
template <class... P>
void rung(Bench& bench, const Tiles& tiles, const Step& step, dim3 block, void (*kernel)(P...),
          bool goes_down = false) {
  const std::size_t n = size_of(bench);
  needs_multiples(bench, tiles, n);
  const GemmShape shape = GemmShape::textbook(GemmType::fp32, n, n, n);
  const auto a = bench.input<float>(n * n), b = bench.input<float>(n * n);
  const auto d = bench.output<float>(n * n);
  bench.compiled(kernel, false);
  verify_own_product(bench, shape, a, b, d, tiles.block_m, tiles.block_n);
  bench.work({.moved_bytes = shape.flops() / tile_intensity(tiles, sizeof(float)),
              .flops = shape.flops(),
              .law = law_of(bench, tiles, step, n)});
  const auto size = static_cast<unsigned>(n);
  const unsigned down = (size + tiles.block_m - 1) / tiles.block_m;
  const unsigned across = (size + tiles.block_n - 1) / tiles.block_n;
  const dim3 grid = goes_down ? dim3(down, across) : dim3(across, down);
  bench.run([&](cudaStream_t s) {
    if constexpr (sizeof...(P) == 6) {  // takes m as well: any shape
      launch(kernel, grid, block, 0, s, a.data(), b.data(), d.data(), size, size, size);
    } else {
      launch(kernel, grid, block, 0, s, a.data(), b.data(), d.data(), size, size);
    }
  });
}

void naive(Bench& bench) {
  rung(bench, naive_tiles, {1, 2, warp + 1, 32}, {warp, 8}, element_a_thread<false>, true);
}
void coalesced(Bench& bench) {
  rung(bench, coalesced_tiles, {1, 2, 2, 132}, 256, element_a_thread<true>);
}
void shared_tile(Bench& bench) {
  rung(bench, shared_tile_tiles, staged_step(shared_tile_tiles, 1, 2, 2, 1), {side, side},
       gemm_ladder::shared_tile);
}
void register_1d(Bench& bench) {
  rung(bench, register_1d_tiles, staged_step(register_1d_tiles, 8, 9, 9, 1),
       register_1d_tiles.threads, gemm_ladder::register_1d);
}
void register_2d(Bench& bench) {
  rung(bench, tiles_of_128, staged_step(tiles_of_128, 64, 16, 16, 1), tile_threads,
       gemm_ladder::register_2d);
}
void vectorised(Bench& bench) {
  rung(bench, tiles_of_128, staged_step(tiles_of_128, 64, 4, 16, 2), tile_threads,
       gemm_ladder::vectorised);
}
void double_buffered(Bench& bench) {
  rung(bench, tiles_of_128, staged_step(tiles_of_128, 64, 4, 16, 2), tile_threads,
       gemm_ladder::double_buffered);
}

// --- cuBLASLt: the fastest of its first 16 algorithms ---

template <class In, class Out>
void library_of(Bench& bench, const GemmShape& shape) {
  Gemm gemm = gpubench::gemm_of(bench, shape);
  const auto a = bench.input<In>(shape.m * shape.lda), b = bench.input<In>(shape.b_elements());
  const auto d = bench.output<Out>(shape.m * shape.ldd);
  tune_first(bench, gemm, a, b, d);
  verify_product(bench, shape, a, b, d);
  bench.work({.moved_bytes = shape.bytes(), .flops = shape.flops()});
  const auto multiply = [&](cudaStream_t s) { gemm.queue(s, a.data(), b.data(), d.data()); };
  bench.run(multiply);
  note(bench, gemm.choice());
  bench.note_kernels(multiply);
}

void library(Bench& bench) {
  const std::size_t n = size_of(bench);
  library_of<float, float>(bench, GemmShape::textbook(GemmType::fp32, n, n, n));
}

[[maybe_unused]] const bool added = [] {
  struct Rung {
    const char* name;
    gpubench::BenchFunction function;
  };
  constexpr Rung fp32[] = {{"naive", naive},
                           {"coalesced", coalesced},
                           {"shared_tile", shared_tile},
                           {"register_1d", register_1d},
                           {"register_2d", register_2d},
                           {"vectorised", vectorised},
                           {"double_buffered", double_buffered},
                           {"library", library}};
  for (const auto& [name, function] : fp32) {
    const auto rows = [name = name, function = function](Suite suite) {
      return gpubench::record("gemm_ladder", name, function)
          ->Axis("dtype", {"fp32"})
          ->ArgName("n")
          ->In(suite);
    };
    rows(Suite::standard)->Arg(2048);
    rows(Suite::full)->Arg(1000)->Arg(1024)->Arg(4096)->Arg(8192);
  }
  return true;
}();

}  // namespace
