// memory_hierarchy: how large and how fast is each level of memory?
//
// Expected  Bandwidth and latency have plateaus at L1, L2 and DRAM, and a step wherever a working
//           set outgrows a level. The steps are soft because caches replace lines at random.
//           `steps` finds the edges in its own curve, and so reports how large the caches are
//           without being told. An SM reads through its own partition of L2, which copies data that
//           belong to the others. With two partitions, the first edge of L2 is therefore at half of
//           its size. A load from L1 takes as many cycles as its busiest bank, whether of data
//           words or of line tags.
// Units     size [bytes of the working set], stride [4-byte words], bytes [per lane and access].
//           Latencies are in seconds and SM clocks. They exclude the launch, because each is the
//           difference between two pointer chases.
// Confirm   ncu --section MemoryWorkloadAnalysis (hit rates of L1 and L2)
#include "kernels/memory_hierarchy.cuh"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/bench/chase.hpp"
#include "harness/bench/latency.hpp"
#include "harness/bench/observed_peak.hpp"
#include "harness/statistics/plateaus.hpp"

namespace {

using namespace memory_hierarchy;
using gpubench::DeviceBuffer;
using gpubench::DeviceSpec;
using word = unsigned;

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

// What a working set is served by, where that is beyond doubt; empty between the plateaus, and on a
// device that does not tell its sizes.
std::string level_of(const DeviceSpec& device, double bytes) {
  const auto l1 = device.find("l1_bytes_per_sm"), l2 = device.find("l2_bytes");
  if (!l1 || !l2) return "";
  if (bytes <= *l1 / 2) return "l1";
  if (bytes >= 4 * *l1 && bytes <= 0.75 * *l2 / device.find("l2_partitions").value_or(1))
    return "l2";
  return bytes >= 4 * *l2 ? "dram" : "";
}

// --- bandwidth ---

void read(Bench& bench) {
  const auto size = bench.arg<std::size_t>("size");
  const auto blocks = static_cast<unsigned>(8 * GiB / bytes_a_block);
  const auto in = bench.input<word>(size / sizeof(word));
  const auto sums = bench.output<word>(blocks);
  const std::size_t vectors = size / sizeof(uint4);
  bench.verify(sums, ExpectedSum<decltype(in.values())>{in.values(), vectors});
  const std::string level = level_of(bench.device(), static_cast<double>(size));
  const double bytes = static_cast<double>(blocks) * bytes_a_block;
  Law law;
  if (level == "dram") law = [](const Roofs& roofs) { return roofs.at("dram"); };
  const auto& device = bench.device();
  if (level == "l2") law = [at = device["l2_bytes_per_second"]](const Roofs&) { return at; };
  if (level == "l1") {
    const double sms = device["l1_bytes_per_clock_per_sm"] * device["sm_count"];
    law = [at = sms * device["sm_clock_hz"]](const Roofs&) { return at; };
  }
  bench.work({.useful_bytes = bytes,
              .law = law,
              .law_tolerance = 0.15,
              .measures = level == "dram" ? "" : level});
  bench.run([&](cudaStream_t s) {
    launch(memory_hierarchy::read, blocks, read_threads, 0, s,
           reinterpret_cast<const uint4*>(in.data()), vectors, sums.data());
  });
}
GPU_BENCHMARK(memory_hierarchy, read)
    ->ArgName("size [bytes]", {256 * KiB, 16 * GiB, KiB})
    ->Each({64 * KiB, 128 * KiB, 8 * MiB, 48 * MiB, 256 * MiB, 8 * GiB})
    ->ForRoofs({64 * KiB})
    ->ForRoofs({8 * MiB})
    ->Rest(Suite::full)
    ->Range(KiB, 32 * KiB)
    ->Each({256 * KiB, 512 * KiB, MiB, 2 * MiB, 4 * MiB, 16 * MiB, 18 * MiB, 24 * MiB, 30 * MiB,
            32 * MiB, 51 * MiB + 512 * KiB, 64 * MiB, 89 * MiB + 512 * KiB, 128 * MiB, 275 * MiB,
            512 * MiB, GiB, 2 * GiB, 4 * GiB})
    ->Arg(96 * MiB);

// --- latency ---

constexpr unsigned steps_timed = 4096;

// Runs the row as one chase of the whole ring; its end says whether it went the right way.
void run_chase(Bench& bench, const RingBuffer& ring) {
  bench.scattered_over(bench.arg<double>("size"));
  const auto end = bench.output<std::uint64_t>(1);
  bench.verify(end, Always{reinterpret_cast<std::uint64_t>(ring.after(2 * steps_timed))});
  bench.run([&](cudaStream_t s) {
    ring.queue(s, 2 * steps_timed, reinterpret_cast<const Link**>(end.data()));
  });
}

void chase(Bench& bench) {
  const auto size = bench.arg<std::size_t>("size");
  RingBuffer ring(size);
  ring.shape(size / line);
  const std::string level = level_of(bench.device(), static_cast<double>(size));
  gpubench::judge_by_latency(
      bench, 2 * steps_timed,
      level.empty() ? std::nullopt : bench.device().find(level + "_latency_cycles"));
  run_chase(bench, ring);
  gpubench::record_latency(bench, ring.latency(bench, steps_timed, 0.2));
}
GPU_BENCHMARK(memory_hierarchy, chase)
    ->ArgName("size [bytes]", {KiB, 16 * GiB, KiB})
    ->Each({16 * KiB, 128 * KiB, 2 * MiB, 16 * MiB, 48 * MiB, 128 * MiB, 8 * GiB})
    ->Rest(Suite::full)
    ->Range(KiB, 8 * KiB)
    ->Each({32 * KiB, 64 * KiB, 256 * KiB, 512 * KiB, MiB, 4 * MiB, 8 * MiB, 24 * MiB, 32 * MiB,
            64 * MiB, 96 * MiB, 256 * MiB, 512 * MiB, GiB, 2 * GiB, 4 * GiB});

// The edges, in the order in which they come: those of L1, of L2, and of what the TLB maps.
void steps(Bench& bench) {
  const auto most = bench.arg<double>("size");
  RingBuffer ring(static_cast<std::size_t>(most));
  gpubench::judge_by_latency(bench, 2 * steps_timed, {});
  ring.shape(static_cast<std::size_t>(most) / line);
  run_chase(bench, ring);
  const auto latency_at = [&](double size) {
    ring.shape(static_cast<std::size_t>(size / line));
    return ring.latency(bench, steps_timed, 0.02);
  };
  std::vector<gpubench::CurvePoint> curve;
  for (double size = 4 * KiB; size <= most; size *= std::sqrt(2.0)) {
    curve.push_back({size, latency_at(size)});
  }
  gpubench::record_latency(bench, curve.back().value);
  const auto found = gpubench::steps(curve);
  const char* const edges[] = {"found_l1_bytes", "found_l2_bytes", "found_tlb_bytes"};
  for (std::size_t i = 0; i < std::min(found.size(), std::size(edges)); ++i) {
    bench.counter(edges[i], gpubench::edge_of(found[i], latency_at, 4));
  }
  // Beside what the device says of itself: the driver of L2, and of L1 only its file.
  int device = 0, l2_bytes = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device));
  bench.counter("stated_l2_bytes", l2_bytes);
  if (const auto l1 = bench.device().find("l1_bytes_per_sm")) bench.counter("stated_l1_bytes", *l1);
  const char* const levels[] = {"found_l1_seconds", "found_l2_seconds", "found_dram_seconds"};
  const auto flat = gpubench::plateaus(curve);
  for (std::size_t i = 0; i < std::min(flat.size(), std::size(levels)); ++i) {
    bench.counter(levels[i], flat[i].level);
  }
}
GPU_BENCHMARK(memory_hierarchy, steps)->ArgName("size [bytes]")->Arg(8 * GiB);

// Which partition of L2 an SM finds a line in, by how long it takes.
void partitions(Bench& bench) {
  if (bench.modelled()) {
    bench.skip("the model has no clock inside a kernel; its device file has " +
               std::to_string(static_cast<int>(bench.device().find("l2_partitions").value_or(1))) +
               " L2 partitions");
  }
  const auto sms = static_cast<unsigned>(bench.device()["sm_count"]);
  RingBuffer ring(lines_timed * line);
  ring.shape(lines_timed);
  const DeviceBuffer<float> cycles(std::size_t{sms} * lines_timed);
  bench.check([&](bool) {
    for (const float c : cycles.download()) {
      if (!(c > 0)) return std::string("a line that took no time");
    }
    return std::string();
  });
  bench.work({.items = static_cast<double>(cycles.size())});
  bench.run(
      [&](cudaStream_t s) { launch(line_latencies, sms, 1, 0, s, ring.first(), cycles.data()); });
  const NearAndFar groups = near_and_far(cycles.download());
  bench.counter("near_cycles", groups.near);
  bench.counter("far_cycles", groups.far);
  bench.counter("far_share", groups.far_share);
}
GPU_BENCHMARK(memory_hierarchy, partitions);

// --- an SM's own memory ---

void l1_strided(Bench& bench) {
  const auto stride = bench.arg<unsigned>("stride");
  const auto& device = bench.device();
  const auto sms = static_cast<unsigned>(device["sm_count"]);
  const unsigned blocks = sms * 128;
  const auto in = bench.input<word>(strided_words);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedStrided<decltype(in.values())>{in.values(), stride});
  const double loads = 8.0 * strided_rounds * strided_threads / warp * blocks;
  const double wavefront = 128 / device["l1_bytes_per_clock_per_sm"];
  const double request = 1 / device["global_requests_per_clock_per_sm"];
  // Where an SM has room for one block at a time, nothing hides a block's end.
  const bool is_alone = device["max_threads_per_sm"] < 2 * strided_threads;
  bench.work({.items = loads,
              .law = [cycles = std::max(request, strided_passes(stride, wavefront))](
                         const Roofs&) { return cycles; },
              .law_tolerance = is_alone ? 0.15 : 0.05,
              .headline = gpubench::Headline{"load_cycles", "clocks", true}});
  bench.run([&](cudaStream_t s) {
    launch(strided, blocks, strided_threads, 0, s, in.data(), stride, 0u, sums.data());
  });
  bench.counter("load_cycles", bench.seconds() * gpubench::clock_of(bench) * sms / loads);
}
GPU_BENCHMARK(memory_hierarchy, l1_strided)
    ->ArgName("stride [4-byte words]", {1, 63})
    ->Each({1, 3, 32})
    ->Rest(Suite::full)
    ->Args({2})
    ->DenseRange(4, 31)
    ->Each({33, 48, 63});

void shared(Bench& bench) {
  const auto& device = bench.device();
  const auto blocks = static_cast<unsigned>(device["sm_count"]) * 64;
  const auto in = bench.input<word>(4 * shared_vectors);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedShared<decltype(in.values())>{in.values()});
  const double bytes = 8.0 * sizeof(uint4) * shared_rounds * shared_threads * blocks;
  const double at = device["shared_bytes_per_clock_per_sm"] * device["sm_count"];
  bench.work({.useful_bytes = bytes,
              .access = gpubench::RowAccess::shared_load,
              .law = [=, clock = device["sm_clock_hz"]](const Roofs&) { return at * clock; },
              .measures = "shared"});
  bench.run([&](cudaStream_t s) {
    launch(shared_read, blocks, shared_threads, 0, s, reinterpret_cast<const uint4*>(in.data()),
           sums.data());
  });
}
GPU_BENCHMARK(memory_hierarchy, shared)->ForRoofs();

void shared_latency(Bench& bench) {
  gpubench::judge_by_latency(bench, 2 * steps_timed, bench.device().find("shared_latency_cycles"));
  const auto end = bench.output<word>(1);
  bench.verify(end, Always{2 * steps_timed * shared_step % (4 * shared_words)});
  gpubench::run_steps(bench, steps_timed, [&](unsigned steps) {
    return [&, steps](cudaStream_t s) { launch(shared_chase, 1, warp, 0, s, steps, end.data()); };
  });
}
GPU_BENCHMARK(memory_hierarchy, shared_latency);

// --- the host's memory ---

void mapped(Bench& bench) {
  const auto size = bench.arg<std::size_t>("size");
  const gpubench::PinnedBuffer<word> host(size / sizeof(word));
  const gpubench::Generator<word> values{7};
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = values(i);
  const auto blocks = static_cast<unsigned>(size / bytes_a_block);
  const auto sums = bench.output<word>(blocks);
  bench.verify(sums, ExpectedSum<gpubench::Generator<word>>{values, size / sizeof(uint4)});
  const auto link = bench.device().find("pcie_h2d_bytes_per_second");
  Law law;
  if (link) law = [at = *link](const Roofs&) { return at; };
  bench.work({.useful_bytes = static_cast<double>(size), .law = law, .bound = "link"});
  bench.run([&](cudaStream_t s) {
    launch(memory_hierarchy::read, blocks, read_threads, 0, s,
           reinterpret_cast<const uint4*>(host.device_data()), size / sizeof(uint4), sums.data());
  });
}
GPU_BENCHMARK(memory_hierarchy, mapped)->ArgName("size [bytes]")->Arg(32 * MiB);

}  // namespace
