// gemm_ladder: how does tiling turn a memory-bound multiplication into a compute-bound one?
//
// Expected  Each rung adds one idea to the rung before it, and the limit moves from L1 to shared
//           memory to arithmetic. `naive`: a warp's load of A touches 32 rows, all in one bank, so
//           a multiply-add takes 33 passes of L1. `coalesced`: neighbouring lanes take neighbouring
//           elements of a row of D, so it takes 2 passes. Each line of B comes from L2 once for the
//           32 warps of a block, which wait for it together. `shared_tile`: 1.25 loads from shared
//           memory, because one load brings four k of A, and 8 bytes from L2. `register_1d`: eight
//           elements per thread, so 3 loads serve 8 multiply-adds. `register_2d`: 8 x 8 elements,
//           so 10 loads serve 64. `vectorised`: 4 loads of 16 bytes serve 64, so multiply-adds are
//           the limit. `double_buffered`: the next tile loads at the same time. In bf16, the warps
//           of `mma_sync` load the data that they multiply; those of `wgmma_tma` neither load nor
//           wait. In `tcgen05` one thread multiplies, while other warps store the tile before. In
//           `tcgen05_pair` two SMs multiply a tile together, and each loads half of B's share of
//           it. `library` is the fastest of cuBLASLt's first 16 algorithms.
// Units     m = n = k [elements]. tile_intensity is the FLOP per byte that blocks request from
//           memory, whichever cache serves the request. It is 0.25 without tiles, mn / 2(m + n)
//           with tiles of m x n in fp32, and twice that in bf16. (arithmetic_intensity, as in all
//           concepts, is per byte of DRAM.)
// Confirm   ncu --metrics sm__inst_executed_pipe_fma.sum,sm__inst_executed_pipe_tensor.sum,
//           dram__bytes.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed
#include "kernels/gemm_ladder.cuh"

#include <cuda_fp8.h>

#include "harness/bench/bench.hpp"
#include "harness/bench/gemm_row.hpp"
#include "harness/bench/tcgen05.hpp"
#include "harness/bench/wgmma.hpp"
#include "harness/cuda/tensor_map.hpp"

namespace {

using namespace gemm_ladder;
using gpubench::GemmShape;
using gpubench::GemmType;

std::size_t size_of(const Bench& bench) { return bench.arg<std::size_t>("n"); }

GemmShape shape_of(const Bench& bench, const Tiles& tiles, GemmType type) {
  const std::size_t n = size_of(bench);
  const unsigned unit = std::max({tiles.block_m, tiles.block_n, tiles.block_k});
  if (!tiles.any_size && n % unit != 0) {
    bench.skip("this rung multiplies whole tiles: n must be a multiple of " + std::to_string(unit));
  }
  return type == GemmType::fp32 ? GemmShape::textbook(type, n, n, n)
                                : GemmShape::dense(type, n, n, n);
}

Law law_of(const Bench& bench, const Tiles& tiles, const Step& step) {
  const auto& device = bench.device();
  const auto sms = device.find("sm_count"), clock = device.find("sm_clock_hz"),
             schedulers = device.find("warp_schedulers_per_sm");
  if (!sms || !clock || !schedulers) return {};
  // Where rows do not begin at lines, what straight loads cost is another question.
  if (tiles.block_k == 1 && size_of(bench) % warp != 0) return {};
  const double issued = *schedulers * *clock * *sms;
  const double requests =
      device.find("global_requests_per_clock_per_sm").value_or(1) * *clock * *sms;
  const double share = useful_share(size_of(bench), tiles, *sms);
  constexpr double wavefront_bytes = 128;
  const char* const moved = tiles.block_k == 1 ? "l1" : "shared";
  return [=](const Roofs& roofs) {
    const Rates rates{issued, requests, roofs.at(moved) / wavefront_bytes, roofs.at("l2")};
    return share * std::min(step_flops(step, rates), roofs.at("fp32"));
  };
}

// The instruction's share of the Tensor Cores' roof, or what L2 has for the tiles. `sms_a_tile`:
// how many multiply a tile together.
Law tensor_law_of(const Bench& bench, const Tiles& tiles, double of_roof, unsigned sms_a_tile = 1) {
  const auto sms = bench.device().find("sm_count");
  if (!sms) return {};
  const double share = useful_share(size_of(bench), tiles, *sms / sms_a_tile);
  return [=](const Roofs& roofs) {
    // SMs that have no tile left take nothing from L2.
    return std::min(share * of_roof * roofs.at("tensor_bf16"),
                    tile_intensity(tiles, sizeof(element)) * roofs.at("l2"));
  };
}

// `queue` launches the kernel on the row's matrices.
template <class T, class Kernel, class Queue>
void rung(Bench& bench, const Tiles& tiles, GemmType type, const Law& law, Kernel kernel,
          const Queue& queue) {
  const GemmShape shape = shape_of(bench, tiles, type);
  const auto a = bench.input<T>(shape.m * shape.k), b = bench.input<T>(shape.n * shape.k);
  const auto d = bench.output<T>(shape.m * shape.n);
  bench.compiled(kernel, false);
  verify_own_product(bench, shape, a, b, d, tiles.block_m, tiles.block_n);
  // The law has all phases of a tile overlap: published kernels of these kinds reach 51 to 64 % of
  // it on an RTX A6000, from a tile in shared memory on.
  bench.work({.flops = shape.flops(), .law = law, .law_tolerance = 0.5});
  bench.run([&](cudaStream_t s) {
    queue(s, a.data(), b.data(), d.data(), static_cast<unsigned>(shape.n));
  });
  bench.counter("tile_intensity", tile_intensity(tiles, sizeof(T)));
}

// `goes_down`: neighbouring blocks are those along a column of D.
template <class... P>
void fp32_rung(Bench& bench, const Tiles& tiles, const Step& step, dim3 block, void (*kernel)(P...),
               bool goes_down = false) {
  const auto queue = [=](cudaStream_t s, const float* a, const float* b, float* d, unsigned n) {
    const unsigned down = (n + tiles.block_m - 1) / tiles.block_m;
    const unsigned across = (n + tiles.block_n - 1) / tiles.block_n;
    const dim3 grid = goes_down ? dim3(down, across) : dim3(across, down);
    if constexpr (sizeof...(P) == 6) {  // takes m as well: any shape
      launch(kernel, grid, block, 0, s, a, b, d, n, n, n);
    } else {
      launch(kernel, grid, block, 0, s, a, b, d, n, n);
    }
  };
  rung<float>(bench, tiles, GemmType::fp32, law_of(bench, tiles, step), kernel, queue);
}

void naive(Bench& bench) {
  fp32_rung(bench, naive_tiles, {1, 2, warp + 1, 160}, {warp, 8}, element_a_thread<false>, true);
}
void coalesced(Bench& bench) {
  fp32_rung(bench, coalesced_tiles, {1, 2, 2, 8}, {warp, warp}, element_a_thread<true>, true);
}
void shared_tile(Bench& bench) {
  const Step step = staged_step(shared_tile_tiles, 1, 1.25, 1.5, 1);
  fp32_rung(bench, shared_tile_tiles, step, {side, side}, gemm_ladder::shared_tile);
}
void register_1d(Bench& bench) {
  const Step step = staged_step(register_1d_tiles, 8, 3, 5, 1);
  fp32_rung(bench, register_1d_tiles, step, register_1d_tiles.threads, gemm_ladder::register_1d);
}
void register_2d(Bench& bench) {
  const Step step = staged_step(tiles_of_128, 64, 10, 24, 1);
  fp32_rung(bench, tiles_of_128, step, tile_threads, gemm_ladder::register_2d);
}
void vectorised(Bench& bench) {
  const Step step = staged_step(tiles_of_128, 64, 4, 12, 2);
  fp32_rung(bench, tiles_of_128, step, tile_threads, gemm_ladder::vectorised);
}
void double_buffered(Bench& bench) {
  const Step step = staged_step(tiles_of_128, 64, 4, 12, 2);
  fp32_rung(bench, tiles_of_128, step, tile_threads, gemm_ladder::double_buffered);
}

void mma_sync(Bench& bench) {
  bench.needs_capability(8, "mma.sync of bf16");
  bench.needs_shared_bytes(mma_sync_parts::shared_bytes, "its stages");
  const auto queue = [](cudaStream_t s, const element* a, const element* b, element* d,
                        unsigned n) {
    const unsigned tiles = n / mma_sync_tiles.block_m * (n / mma_sync_tiles.block_n);
    launch(gemm_ladder::mma_sync, tiles, mma_sync_tiles.threads, mma_sync_parts::shared_bytes, s, a,
           b, d, n, n, n);
  };
  const auto of_roof = bench.device().find("mma_sync_efficiency");
  rung<element>(bench, mma_sync_tiles, GemmType::bf16,
                tensor_law_of(bench, mma_sync_tiles, of_roof.value_or(1)), gemm_ladder::mma_sync,
                queue);
}

// A rung whose tiles the copy engine brings: persistent, with as many blocks as it takes.
// `cluster`: how many of them multiply a tile together, each with its share of the rows of A and of
// B.
template <class... P>
void tma_rung(Bench& bench, const Tiles& tiles, std::size_t shared_bytes, void (*kernel)(P...),
              unsigned cluster = 1) {
  const auto queue = [&](cudaStream_t s, const element* a, const element* b, element* d,
                         unsigned n) {
    const CUtensorMap of_a = gpubench::tensor_map(a, n, n, n, tiles.block_m / cluster);
    const CUtensorMap of_b = gpubench::tensor_map(b, n, n, n, tiles.block_n / cluster);
    const unsigned all = n / tiles.block_m * (n / tiles.block_n);
    const unsigned at_once =
        cluster == 1 ? gpubench::sm_count()
                     : gpubench::resident_clusters(kernel, cluster, tiles.threads, shared_bytes);
    // As many clusters as that takes, no more.
    const unsigned of_a_cluster = (all + at_once - 1) / at_once;
    const unsigned blocks = (all + of_a_cluster - 1) / of_a_cluster * cluster;
    gpubench::launch_by_cluster(kernel, cluster, blocks, tiles.threads, shared_bytes, s, of_a, of_b,
                                d, n, n, n);
  };
  rung<element>(bench, tiles, GemmType::bf16, tensor_law_of(bench, tiles, 1, cluster), kernel,
                queue);
}

void wgmma_tma(Bench& bench) {
  if (const std::string why = gpubench::why_no_wgmma(); !why.empty()) bench.skip(why);
  tma_rung(bench, wgmma_tiles, wgmma_tma_parts::shared_bytes, gemm_ladder::wgmma_tma);
}

void tcgen05(Bench& bench) {
  if (const std::string why = gpubench::why_no_tcgen05(); !why.empty()) bench.skip(why);
  tma_rung(bench, tcgen05_tiles, tcgen05_parts::shared_bytes, gemm_ladder::tcgen05);
}

void tcgen05_pair(Bench& bench) {
  if (const std::string why = gpubench::why_no_tcgen05(); !why.empty()) bench.skip(why);
  tma_rung(bench, tcgen05_pair_tiles, tcgen05_pair_parts::shared_bytes, gemm_ladder::tcgen05_pair,
           2);
}

template <GemmType type, class In, class Out>
void library(Bench& bench) {
  const std::size_t n = size_of(bench);
  const GemmShape shape =
      type == GemmType::fp32 ? GemmShape::textbook(type, n, n, n) : GemmShape::dense(type, n, n, n);
  gpubench::Gemm gemm = gpubench::gemm_of(bench, shape);
  const auto a = bench.input<In>(n * n), b = bench.input<In>(n * n);
  const auto d = bench.output<Out>(n * n);
  tune_first(bench, gemm, a, b, d);
  verify_product(bench, shape, a, b, d);
  bench.work({.moved_bytes = shape.bytes(), .flops = shape.flops()});
  const auto multiply = [&](cudaStream_t s) { gemm.queue(s, a.data(), b.data(), d.data()); };
  bench.run(multiply);
  note(bench, gemm.choice());
  bench.note_kernels(multiply);
}

using Sizes = std::vector<std::int64_t>;

// One size is in the default suite, `others` in the full one.
void rows(Registration* to, const char* dtype, std::int64_t size, Sizes others) {
  to->Axis("dtype", {dtype})->ArgName("n [elements]", {1000, 16384, 8});
  to->Arg(size)->Rest(Suite::full)->Each(others);
}
void fp32(Registration* to) { rows(to, "fp32", 2048, {1000, 1024, 4096, 8192}); }
void bf16(Registration* to) { rows(to, "bf16", 4096, {1000, 2048, 8192, 16384}); }

GPU_BENCHMARK(gemm_ladder, naive)->Apply(fp32);
GPU_BENCHMARK(gemm_ladder, coalesced)->Apply(fp32);
GPU_BENCHMARK(gemm_ladder, shared_tile)->Apply(fp32);
GPU_BENCHMARK(gemm_ladder, register_1d)->Apply(fp32);
GPU_BENCHMARK(gemm_ladder, register_2d)->Apply(fp32);
GPU_BENCHMARK(gemm_ladder, vectorised)->Apply(fp32);
GPU_BENCHMARK(gemm_ladder, double_buffered)->Apply(fp32);
GPU_BENCHMARK_AS(gemm_ladder, library, library<GemmType::fp32, float, float>)->Apply(fp32);
GPU_BENCHMARK(gemm_ladder, mma_sync)->Apply(bf16);
GPU_BENCHMARK(gemm_ladder, wgmma_tma)->Apply(bf16);
GPU_BENCHMARK(gemm_ladder, tcgen05)->Apply(bf16);
GPU_BENCHMARK(gemm_ladder, tcgen05_pair)
    ->Axis("dtype", {"bf16"})
    ->ArgName("n [elements]", {1000, 16384, 8})
    ->In(Suite::full)
    ->Each({4096, 1000, 2048, 8192, 16384});
GPU_BENCHMARK_AS(gemm_ladder, library, library<GemmType::bf16, element, element>)->Apply(bf16);
GPU_BENCHMARK_AS(gemm_ladder, library, library<GemmType::fp8, __nv_fp8_e4m3, element>)
    ->Axis("dtype", {"fp8"})
    ->ArgName("n [elements]")
    ->In(Suite::full)
    ->Each({1000, 2048, 4096, 8192, 16384});

}  // namespace
