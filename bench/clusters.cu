// clusters: what does sharing shared memory between blocks gain and cost?
//
// Expected  A load from another block's shared memory takes about 180 cycles on a Hopper: six times
//           as long as from the block's own, and two thirds of L2's time. The network between SMs
//           moves less than half of what L2 does, and a fifth less in clusters of more than two
//           blocks. So clusters are for words that a block waits for, not for streams. A barrier of
//           a cluster costs as much as two such loads. A launch costs the same with clusters as
//           without. A sum with one result per cluster instead of one per block takes as long,
//           because memory sets the pace. A tile that all blocks of a cluster need can come by
//           `multicast`: L2 is read once for all, so tiles come as many times faster as there are
//           blocks, until shared memory is the limit.
// Units     cluster [blocks]; 1 is a launch without clusters. In `chase`, one thread follows a ring
//           through the other blocks' memory, or its own (1); in `chase_l2`, through 2 MiB of
//           global memory. In `barrier`, a cluster meets over and over; its latency is that of one
//           barrier.cluster, arrive and wait. In `read`, every block reads the next one's memory;
//           in `read_l2`, global memory that L2 holds. `launch_row` is 64 launches in a graph, 16
//           blocks each. In `multicast`, each block of a cluster copies its share of a tile of 96
//           KiB to all blocks; in `separate`, all of it to itself. Their bytes are those that land
//           in shared memory.
// Confirm   ncu --metrics smsp__inst_executed_op_generic_ld.sum (a load from another block is a
//           generic one), lts__t_sectors_op_read.sum (those loads bypass L2; a multicast reads a
//           sector once)
#include "kernels/clusters.cuh"

#include <functional>
#include <memory>
#include <optional>

#include "harness/bench/bench.hpp"
#include "harness/bench/chase.hpp"
#include "harness/bench/latency.hpp"
#include "harness/bench/multicast.hpp"
#include "harness/cuda/graph.hpp"
#include "harness/cuda/stream.hpp"
#include "kernels/clusters/multicast.cuh"
#include "kernels/launch_overhead.cuh"
#include "kernels/memory_hierarchy.cuh"

namespace {

using namespace clusters;
using gpubench::DeviceBuffer;
using gpubench::launch_cluster;
using launch_overhead::By;

unsigned cluster_of(const Bench& bench) { return bench.arg<unsigned>("cluster"); }

// Skips the row where the device has no clusters, or none of this size.
template <class Kernel>
void need_cluster(Bench& bench, Kernel kernel, unsigned threads, std::size_t shared_bytes) {
  bench.needs_capability(9, "a cluster of blocks");
  const unsigned most = gpubench::largest_cluster(kernel, threads, shared_bytes);
  if (cluster_of(bench) > most) {
    bench.skip("the largest cluster has " + std::to_string(most) + " blocks here");
  }
}

std::optional<double> per_second(const Bench& bench, const char* per_clock_per_sm) {
  const auto& device = bench.device();
  const auto each = device.find(per_clock_per_sm);
  if (!each) return std::nullopt;
  return *each * device["sm_count"] * device["sm_clock_hz"];
}

// --- latency ---

constexpr unsigned steps_timed = 4080;  // whole stretches; twice as many end at no ring's begin
constexpr std::size_t l2_chase_bytes = 2 << 20, l2_read_bytes = 8 << 20;  // more than L1 holds
constexpr unsigned blocks_an_sm = 64;  // so that there are whole clusters of any size
constexpr unsigned tiled_blocks_an_sm = 16;

void chase_shared(Bench& bench) {
  const unsigned blocks = cluster_of(bench);
  const auto kernel = blocks > 1 ? chase<true> : chase<false>;
  need_cluster(bench, kernel, chase_threads, ring_bytes);
  // Another block's depends on which two: 181 to 213 cycles on an H800, 201 to 224 on a B300.
  const char* const figure = blocks > 1 ? "dsm_latency_cycles" : "shared_latency_cycles";
  gpubench::judge_by_latency(bench, 2 * steps_timed, bench.device().find(figure),
                             blocks > 1 ? 0.25 : 0.05);
  const auto end = bench.output<unsigned>(1);
  bench.verify(end, memory_hierarchy::Always{end_of_chase(2 * steps_timed, blocks)});
  gpubench::run_steps(bench, steps_timed, [&](unsigned steps) -> gpubench::Body {
    return [=](cudaStream_t s) {
      launch_cluster(kernel, blocks, blocks, chase_threads, ring_bytes, s, steps, end.data());
    };
  });
}
GPU_BENCHMARK_AS(clusters, chase, chase_shared)
    ->ArgName("cluster [blocks]")
    ->Each({2, 1})
    ->Rest(Suite::full)
    ->Each({4, 8, 16});

void chase_l2(Bench& bench) {
  bench.needs_capability(9, "a cluster of blocks");
  gpubench::judge_by_latency(bench, 2 * steps_timed, bench.device().find("l2_latency_cycles"));
  memory_hierarchy::RingBuffer ring(l2_chase_bytes);
  ring.shape(l2_chase_bytes / memory_hierarchy::line);
  const auto end = bench.output<std::uint64_t>(1);
  bench.verify(
      end, memory_hierarchy::Always{reinterpret_cast<std::uint64_t>(ring.after(2 * steps_timed))});
  gpubench::run_steps(bench, steps_timed, [&](unsigned steps) -> gpubench::Body {
    return [&, steps](cudaStream_t s) {
      ring.queue(s, steps, reinterpret_cast<const memory_hierarchy::Link**>(end.data()));
    };
  });
}
GPU_BENCHMARK(clusters, chase_l2)->In(Suite::full);

constexpr unsigned rounds_timed = 512;

void barrier_row(Bench& bench) {
  const unsigned blocks = cluster_of(bench);
  need_cluster(bench, clusters::barrier, barrier_threads, sizeof(unsigned));
  gpubench::judge_by_latency(bench, 2 * rounds_timed, bench.device().find("cluster_barrier_cycles"),
                             0.1);
  const auto ends = bench.output<unsigned>(blocks);
  bench.verify(ends, ExpectedBarrier{2 * rounds_timed, blocks});
  gpubench::run_steps(bench, rounds_timed, [&](unsigned rounds) -> gpubench::Body {
    return [=](cudaStream_t s) {
      launch_cluster(clusters::barrier, blocks, blocks, barrier_threads, sizeof(unsigned), s,
                     rounds, ends.data());
    };
  });
}
GPU_BENCHMARK_AS(clusters, barrier, barrier_row)
    ->ArgName("cluster [blocks]")
    ->Each({2, 4, 8, 16})
    ->In(Suite::full);

// --- bandwidth ---

unsigned blocks_of(const Bench& bench) {
  return static_cast<unsigned>(bench.device()["sm_count"]) * blocks_an_sm;
}

void read_shared(Bench& bench) {
  const unsigned cluster = cluster_of(bench);
  need_cluster(bench, clusters::read, read_threads, read_shared_bytes);
  const unsigned blocks = blocks_of(bench);
  const auto in = bench.input<unsigned>(std::size_t{4} * read_vectors * cluster);
  const auto sums = bench.output<unsigned>(blocks);
  bench.verify(sums, ExpectedRead<decltype(in.values())>{in.values(), cluster});
  bench.work(
      {.useful_bytes = bytes_read_a_block * blocks,
       .law = gpubench::law_at(per_second(bench, cluster > 2 ? "dsm_crowded_bytes_per_clock_per_sm"
                                                             : "dsm_bytes_per_clock_per_sm"))});
  bench.run([&](cudaStream_t s) {
    launch_cluster(clusters::read, cluster, blocks, read_threads, read_shared_bytes, s,
                   reinterpret_cast<const uint4*>(in.data()), sums.data());
  });
}
GPU_BENCHMARK_AS(clusters, read, read_shared)
    ->ArgName("cluster [blocks]")
    ->Each({2, 8})
    ->Rest(Suite::full)
    ->Each({4, 16});

void read_l2(Bench& bench) {
  bench.needs_capability(9, "a cluster of blocks");
  const auto blocks = blocks_of(bench);
  const auto in = bench.input<unsigned>(l2_read_bytes / sizeof(unsigned));
  const auto sums = bench.output<unsigned>(blocks);
  constexpr std::size_t vectors = l2_read_bytes / sizeof(uint4);
  bench.verify(sums, memory_hierarchy::ExpectedSum<decltype(in.values())>{in.values(), vectors});
  bench.work({.useful_bytes = static_cast<double>(memory_hierarchy::bytes_a_block) * blocks,
              .law = gpubench::law_at(bench.device().find("l2_bytes_per_second")),
              .law_tolerance = 0.15});
  bench.run([&](cudaStream_t s) {
    launch(memory_hierarchy::read, blocks, memory_hierarchy::read_threads, 0, s,
           reinterpret_cast<const uint4*>(in.data()), vectors, sums.data());
  });
}
GPU_BENCHMARK(clusters, read_l2)->In(Suite::full);

// --- one tile for all ---

// L2 reads each byte once per copy, however many blocks get it. Shared memory takes it in every
// block, and also serves the lanes, which read one part of each tile.
Law law_of_tiles(double blocks_a_read) {
  constexpr double moved = 1 + 1.0 / tile_parts;
  return gpubench::law_of_lowest({{"l2", blocks_a_read}, {"shared", 1 / moved}});
}

template <bool multicast>
void bring_tiles(Bench& bench) {
  const unsigned cluster = cluster_of(bench);
  const auto kernel = bring<multicast>;
  bench.needs_capability(9, "a cluster of blocks");
  bench.needs_shared_bytes(tile_shared_bytes, "its tiles");
  need_cluster(bench, kernel, tile_threads, tile_shared_bytes);
  if (multicast) {
    if (const std::string why = gpubench::why_no_multicast(); !why.empty()) bench.skip(why);
  }
  const auto blocks = static_cast<unsigned>(bench.device()["sm_count"]) * tiled_blocks_an_sm;
  const auto in = bench.input<unsigned>(l2_read_bytes / sizeof(unsigned));
  const auto sums = bench.output<unsigned>(blocks);
  constexpr unsigned tiles = l2_read_bytes / tile_bytes;
  bench.verify(sums, ExpectedTiles<decltype(in.values())>{in.values(), tiles, cluster});
  bench.work({.useful_bytes = bytes_brought_a_block * blocks,
              .law = law_of_tiles(multicast ? cluster : 1),
              .law_tolerance = 0.15});
  bench.run([&](cudaStream_t s) {
    launch_cluster(kernel, cluster, blocks, tile_threads, tile_shared_bytes, s,
                   reinterpret_cast<const uint4*>(in.data()), tiles, sums.data());
  });
}
GPU_BENCHMARK_AS(clusters, multicast, bring_tiles<true>)
    ->ArgName("cluster [blocks]")
    ->Arg(4)
    ->Rest(Suite::full)
    ->Each({2, 8, 16});
GPU_BENCHMARK_AS(clusters, separate, bring_tiles<false>)
    ->ArgName("cluster [blocks]")
    ->Each({2, 4, 8, 16})
    ->In(Suite::full);

// --- launches ---

void launch_row(Bench& bench) {
  constexpr unsigned launches = 64;
  const unsigned cluster = cluster_of(bench);
  need_cluster(bench, empty, empty_threads, 0);
  const auto graph_of = [=](unsigned* count) {
    return std::make_shared<const gpubench::ExecutableGraph>([=](cudaStream_t s) {
      for (unsigned i = 0; i < launches; ++i) {
        if (cluster > 1) {
          launch_cluster(empty, cluster, empty_blocks, empty_threads, 0, s, count);
        } else {
          launch(empty, empty_blocks, empty_threads, 0, s, count);
        }
      }
    });
  };
  bench.blocks_host();
  bench.check([&](bool) -> std::string {
    const DeviceBuffer<unsigned> count(1);
    count.set(0);
    const gpubench::Stream stream;
    graph_of(count.data())->launch(stream);
    stream.synchronize();
    const unsigned counted = count.download()[0];
    if (counted == launches * cluster) return "";
    return std::to_string(counted / cluster) + " of " + std::to_string(launches) +
           " launches ran in such clusters";
  });
  const double seconds = launch_overhead::costs_of(bench.device()).row(By::graph, launches, 0);
  bench.work({.items = launches,
              .law = gpubench::law_at(launches / seconds),
              .law_tolerance = 0.02,
              .bound = "launch"});
  bench.run([graph = graph_of(nullptr)](cudaStream_t s) { graph->launch(s); });
}
GPU_BENCHMARK(clusters, launch_row)
    ->ArgName("cluster [blocks]")
    ->Each({1, 2, 4, 8, 16})
    ->In(Suite::full);

// --- a sum ---

void sum_row(Bench& bench) {
  constexpr std::size_t vectors = std::size_t{1} << 24;
  const unsigned cluster = cluster_of(bench);
  need_cluster(bench, sum, sum_threads, sum_shared_bytes);
  const unsigned clusters =
      gpubench::resident_clusters(sum, cluster, sum_threads, sum_shared_bytes);
  if (clusters == 0) bench.skip("no cluster of this size fits");
  const auto in = bench.input<float>(4 * vectors);
  const auto sums = bench.output<float>(clusters);
  bench.verify(sums, ExpectedSum<decltype(in.values())>{in.values(), vectors, cluster, clusters},
               {.relative = 1e-5});
  bench.work({.useful_bytes = static_cast<double>(sizeof(float4)) * vectors,
              .law = gpubench::law_of_roof("dram"),
              .law_tolerance = 0.2});
  bench.run([&](cudaStream_t s) {
    launch_cluster(sum, cluster, clusters * cluster, sum_threads, sum_shared_bytes, s,
                   reinterpret_cast<const float4*>(in.data()), vectors, sums.data());
  });
}
GPU_BENCHMARK_AS(clusters, sum, sum_row)
    ->ArgName("cluster [blocks]")
    ->Each({2, 4, 8, 16, 1})
    ->In(Suite::full);

}  // namespace
