// transfer: how fast do bytes move between host and device?
//
// Expected  On every path, time = latency + size / bandwidth. Half of the bandwidth is reached at
//           the size where the two terms are equal: about 100 KB over PCIe. Much smaller copies pay
//           for latency alone. Pinned memory reaches the link's bandwidth. Pageable memory is
//           staged by the host, which is slower and makes the host wait. A kernel on mapped memory
//           is as fast as a copy if enough of its reads are in flight. Managed memory is prefetched
//           there and back, in whole pages. A copy on the device reads and writes its DRAM. A copy
//           to a peer crosses the link between the two (topology measures that link).
// Units     size [bytes]; `managed` goes there and back, and its bytes count once. The row with the
//           largest default size of a path carries the fit over five sizes: fit_latency_seconds,
//           fit_bytes_per_second, fit_half_bandwidth_bytes. node is the NUMA node of the host's
//           buffer.
// Confirm   nsys profile --trace=cuda (throughput of each copy); nvbandwidth
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/bench/peers.hpp"
#include "harness/cuda/managed.hpp"
#include "harness/cuda/numa.hpp"
#include "kernels/transfer.cuh"

namespace {

using namespace transfer;

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20, GiB = 1 << 30;
constexpr std::int64_t largest = 16 * MiB;            // of the default rows
constexpr std::int64_t largest_on_device = 64 * MiB;  // beyond what caches hold
constexpr std::int64_t largest_modelled = 64 * MiB;   // the model moves the bytes

std::size_t size_of(const Bench& bench) {
  const std::int64_t size = bench.arg("size");
  if (bench.modelled() && size > largest_modelled) {
    bench.skip("the model really moves the bytes, so it runs only sizes up to 64 MiB");
  }
  return static_cast<std::size_t>(size);
}

constexpr const char* dram = "dram";

// `seconds`: what the row takes, if anybody knows. `copy(stream, bytes)` is its body for any number
// of bytes up to its size.
template <class Copy>
void run(Bench& bench, std::size_t size, std::size_t fitted_at, const gpubench::Law& seconds,
         const Copy& copy, const char* through = "link") {
  const auto amount = static_cast<double>(size);
  gpubench::Law law;
  if (seconds) law = [=](const gpubench::Roofs& roofs) { return amount / seconds(roofs); };
  bench.work({.useful_bytes = amount,
              .moved_bytes = through == dram ? 2 * amount : amount,  // read and written
              .moved_through = through,
              .law = law,
              .law_tolerance = 0.02,
              .bound = through});
  bench.run([&](cudaStream_t s) { copy(s, size); });
  if (size != fitted_at) return;
  std::array<double, 5> sizes{4, 64.0 * KiB, 1.0 * MiB, amount / 4, amount}, times{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(sizes[i]);
    times[i] =
        bytes == size ? bench.seconds() : bench.time([&](cudaStream_t s) { copy(s, bytes); });
  }
  const Line line = fit(sizes, times);
  if (!(line.latency > 0 && line.bytes_per_second > 0)) return;  // these times make no line
  bench.counter("fit_latency_seconds", line.latency);
  bench.counter("fit_bytes_per_second", line.bytes_per_second);
  bench.counter("fit_half_bandwidth_bytes", line.half_bandwidth_bytes());
}

constexpr gpubench::Generator<word> values{42};  // what is sent from the host

void fill(word* host, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) host[i] = values(i);
}

gpubench::Law takes(double seconds) {
  return [=](const gpubench::Roofs&) { return seconds; };
}

// Between the device's memory and the host's at `host`.
void copy(Bench& bench, bool to_device, std::size_t size, std::size_t fitted_at, bool pinned,
          word* host) {
  const std::size_t n = size / sizeof(word);
  const auto link = host_link::link_of(bench.device(), pinned);
  const auto amount = static_cast<double>(size);
  double seconds = to_device ? link.to_device(amount) : link.to_host(amount);
  if (!pinned) {
    bench.blocks_host();
    seconds += link.call + link.blocking;
  }
  if (to_device) {
    const auto device = bench.output<word>(n);
    fill(host, n);
    bench.verify(device, values);
    run(bench, size, fitted_at, takes(seconds), [=](cudaStream_t s, std::size_t bytes) {
      CUDA_CHECK(cudaMemcpyAsync(device.data(), host, bytes, cudaMemcpyHostToDevice, s));
    });
  } else {
    const auto device = bench.input<word>(n);
    bench.verify_copy(std::span(host, n), device);
    run(bench, size, fitted_at, takes(seconds), [=](cudaStream_t s, std::size_t bytes) {
      CUDA_CHECK(cudaMemcpyAsync(host, device.data(), bytes, cudaMemcpyDeviceToHost, s));
    });
  }
}

// A kernel that reaches over the link itself.
void mapped(Bench& bench, bool to_device, std::size_t size) {
  const std::size_t n = size / sizeof(word);
  const gpubench::PinnedBuffer<word> host(n);
  const auto link = host_link::link_of(bench.device(), true);
  const auto amount = static_cast<double>(size);
  const double floor = bench.device()["kernel_floor_seconds"];
  const auto move = [](cudaStream_t s, const word* from, word* to, std::size_t bytes) {
    const std::size_t words = bytes / sizeof(word);
    launch(copy_words::copy, copy_words::blocks(words), copy_words::threads, 0, s, from, to, words);
  };
  word* const there = host.device_data();
  if (to_device) {
    const auto device = bench.output<word>(n);
    fill(host.data(), n);
    bench.verify(device, values);
    run(bench, size, largest, takes(floor + link.to_device(amount)),
        [=](cudaStream_t s, std::size_t bytes) { move(s, there, device.data(), bytes); });
  } else {
    const auto device = bench.input<word>(n);
    bench.verify_host(host.span(), device.values());
    run(bench, size, largest, takes(floor + link.to_host(amount)),
        [=](cudaStream_t s, std::size_t bytes) { move(s, device.data(), there, bytes); });
  }
}

void over_link(Bench& bench, bool to_device) {
  const std::size_t size = size_of(bench);
  if (bench.axis("memory") == "mapped") return mapped(bench, to_device, size);
  const bool pinned = bench.axis("memory") == "pinned";
  gpubench::HostBuffer<word> host(size / sizeof(word), pinned);
  copy(bench, to_device, size, largest, pinned, host.data());
}

void h2d(Bench& bench) { over_link(bench, true); }
void d2h(Bench& bench) { over_link(bench, false); }

void managed(Bench& bench) {
  const std::size_t size = size_of(bench), n = size / sizeof(word);
  if (gpubench::device_attribute(cudaDevAttrConcurrentManagedAccess) == 0) {
    bench.skip("this system cannot prefetch managed memory");
  }
  std::size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (size > free / 2) {
    bench.skip(std::to_string(size) + " bytes of managed memory are more than half of the " +
               std::to_string(free) + " that are free");
  }
  const gpubench::ManagedBuffer<word> both(n);
  const auto round_trip = [&](cudaStream_t s, std::size_t bytes) {
    both.prefetch_to_device(s, bytes);
    both.prefetch_to_host(s, bytes);
  };
  bench.check([&](bool) -> std::string {
    const gpubench::Stream s;
    fill(both.data(), n);
    both.prefetch_to_device(s, size);
    launch(flip, flipping_blocks, copy_words::threads, 0, s, both.data(), n);
    both.prefetch_to_host(s, size);
    s.synchronize();
    const ExpectedFlips<gpubench::Generator<word>> expected{values, n};
    for (std::size_t i = 0; i < n; ++i) {
      if (both[i] != expected(i)) return gpubench::describe_wrong(i, both[i], expected(i));
    }
    return "";
  });
  bench.blocks_host();  // the driver may map pages in the call itself
  const auto link = host_link::link_of(bench.device(), true);
  const double moved = whole_pages(size, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  // The event before is written while the first prefetch is issued; the one after is recorded by a
  // third call, and comes no earlier than the host is through with that.
  const double crossing = link.to_device(moved) + link.to_host(moved);
  run(bench, size, largest, takes(std::max(3 * link.call, crossing)), round_trip);
}

void on_device(Bench& bench) {
  const std::size_t size = size_of(bench), n = size / sizeof(word);
  const auto from = bench.input<word>(n);
  const auto to = bench.output<word>(n);
  bench.verify(to, from.values());
  const auto& d = bench.device();
  const double seconds =
      d["kernel_floor_seconds"] +
      2.0 * static_cast<double>(size) / (d["dram_bytes_per_second"] * d["dram_mixed_efficiency"]);
  const auto copies = [=](cudaStream_t s, std::size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, s));
  };
  run(bench, size, largest_on_device, takes(seconds), copies, dram);
}

// By the driver, from this GPU to the next.
void peer(Bench& bench) {
  const std::size_t size = size_of(bench), n = size / sizeof(word);
  gpubench::needs_gpus(bench, 2);
  int mine = 0, gpus = 0;
  CUDA_CHECK(cudaGetDevice(&mine));
  CUDA_CHECK(cudaGetDeviceCount(&gpus));
  const int other = (mine + 1) % gpus;
  const bool direct = gpubench::note_access(bench, {mine, other});
  const auto from = bench.input<word>(n);
  const auto to = bench.per_set(0, [=] { return gpubench::buffer_on<word>(other, n); });
  bench.check([&](bool) { return gpubench::check_on(other, *to, from.values(), false); });
  gpubench::Law seconds;
  const auto link = bench.device().find("nvlink_bytes_per_second");
  if (direct && link) {
    seconds = takes(bench.device()["kernel_floor_seconds"] + static_cast<double>(size) / *link);
  }
  run(bench, size, largest, seconds, [&](cudaStream_t s, std::size_t bytes) {
    CUDA_CHECK(cudaMemcpyAsync(to->data(), from.data(), bytes, cudaMemcpyDeviceToDevice, s));
  });
}

// The model's host is one node.
void numa(Bench& bench) {
  const auto node = bench.arg<int>("node");
  const std::vector<int> nodes = bench.modelled() ? std::vector{0} : gpubench::numa_nodes();
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
    std::string some;
    for (const int n : nodes) some += (some.empty() ? "" : ", ") + std::to_string(n);
    bench.skip("no memory on NUMA node " + std::to_string(node) + ", only on " + some);
  }
  const bool only = nodes.size() == 1;
  bench.note("numa", only ? "the only node" : "bound");
  const gpubench::NodeMemory host(largest, only ? std::nullopt : std::optional(node));
  copy(bench, bench.axis("direction") == "h2d", largest, 0, true, static_cast<word*>(host.data()));
}

using Sizes = std::vector<std::int64_t>;

void usual(Registration* rows, Sizes sizes) {
  rows->ArgName("size [bytes]", {4, GiB, 4})->Each(sizes);
}
// What the full suite has beside the sizes that are `taken`.
void others(Registration* rows, Sizes taken) {
  rows->ArgName("size [bytes]")->In(Suite::full);
  for (const std::int64_t size : {std::int64_t{4}, std::int64_t{64}, KiB, 16 * KiB, 64 * KiB,
                                  256 * KiB, MiB, 4 * MiB, 16 * MiB, 64 * MiB, 256 * MiB, GiB}) {
    if (std::ranges::find(taken, size) == taken.end()) rows->Arg(size);
  }
}

// The default suite has the whole sweep of one path, and of each other the size that is fitted.
const Sizes sweep{4, 64 * KiB, MiB, largest}, fitted{largest}, fitted_on_device{largest_on_device};
GPU_BENCHMARK(transfer, h2d)->Axis("memory", {"pinned"})->Apply(usual, sweep);
GPU_BENCHMARK(transfer, d2h)->Axis("memory", {"pinned"})->Apply(usual, fitted);
GPU_BENCHMARK(transfer, h2d)->Axis("memory", {"pageable"})->Apply(usual, fitted);
GPU_BENCHMARK(transfer, d2h)->Axis("memory", {"pageable"})->Apply(usual, fitted);
GPU_BENCHMARK(transfer, h2d)->Axis("memory", {"mapped"})->Apply(usual, fitted);
GPU_BENCHMARK(transfer, d2h)->Axis("memory", {"mapped"})->Apply(usual, fitted);
GPU_BENCHMARK(transfer, managed)->Apply(usual, fitted);
GPU_BENCHMARK(transfer, on_device)->Apply(usual, fitted_on_device);
GPU_BENCHMARK(transfer, peer)->Apply(usual, fitted);
GPU_BENCHMARK(transfer, numa)->Axis("direction", {"h2d", "d2h"})->ArgName("node")->Each({0, 1});
GPU_BENCHMARK(transfer, h2d)->Axis("memory", {"pinned"})->Apply(others, sweep);
GPU_BENCHMARK(transfer, d2h)->Axis("memory", {"pinned"})->Apply(others, fitted);
GPU_BENCHMARK(transfer, h2d)->Axis("memory", {"pageable"})->Apply(others, fitted);
GPU_BENCHMARK(transfer, d2h)->Axis("memory", {"pageable"})->Apply(others, fitted);
GPU_BENCHMARK(transfer, h2d)->Axis("memory", {"mapped"})->Apply(others, fitted);
GPU_BENCHMARK(transfer, d2h)->Axis("memory", {"mapped"})->Apply(others, fitted);
GPU_BENCHMARK(transfer, managed)->Apply(others, fitted);
GPU_BENCHMARK(transfer, on_device)->Apply(others, fitted_on_device);
GPU_BENCHMARK(transfer, peer)->Apply(others, fitted);
GPU_BENCHMARK(transfer, numa)
    ->Axis("direction", {"h2d", "d2h"})
    ->ArgName("node")
    ->DenseRange(2, 7)
    ->In(Suite::full);

}  // namespace
