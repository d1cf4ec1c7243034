// topology: how fast is the link between each pair of GPUs?
//
// Expected  NVLink moves bytes at the same rate between any two GPUs of a node. PCIe reaches a
//           tenth of that or less. A copy that stays on one GPU reaches half of its memory's
//           bandwidth. A kernel that fetches from a peer is as fast as the driver's copy. A copy of
//           4 bytes costs the same few us on every path, except through the host. The measured
//           bandwidth agrees with the driver's report.
// Units     from, to [GPU]: bytes go from one to the other; all pairs are in the full suite.
//           `connection` is the driver's report, and `agrees` compares it with the measurement.
//           p2p_performance_rank is the driver's order of links; 0 is the fastest.
// Confirm   nvidia-smi topo -m; p2pBandwidthLatencyTest of the CUDA samples
#include "harness/bench/bench.hpp"
#include "harness/bench/peers.hpp"
#include "kernels/topology.cuh"

namespace {

using namespace topology;
using gpubench::CurrentDevice;
using gpubench::DeviceBuffer;
using gpubench::Peers;

constexpr std::size_t bulk = std::size_t{64} << 20;
constexpr std::size_t little = sizeof(word);  // what is left is the time to get there

// What the measured rate says of what the driver reports.
void compare(Bench& bench, const Peers& pair, double size) {
  if (pair.same()) return;
  const std::string agrees = agreement(bench.connection(pair.from, pair.to), size / bench.seconds(),
                                       bench.device()["pcie_h2d_bytes_per_second"]);
  if (!agrees.empty()) bench.note("agrees", agrees);
}

Law law_of(const Bench& bench, const Peers& pair, double size) {
  const auto& d = bench.device();
  const auto link = d.find("nvlink_bytes_per_second");
  if (!pair.same() && !link) return {};
  const double seconds =
      copy_seconds(size, pair.same(), d["kernel_floor_seconds"],
                   d["dram_bytes_per_second"] * d["dram_mixed_efficiency"], link.value_or(0));
  return [=](const Roofs&) { return size / seconds; };
}

// `move(stream, from, to, words)` is queued on the GPU `mine`.
template <class Move>
void run(Bench& bench, const Peers& pair, int mine, std::size_t size, const Move& move) {
  const std::size_t n = size / sizeof(word);
  const gpubench::Generator<word> values{42};
  struct Buffers {
    DeviceBuffer<word> source, target;
  };
  const auto buffers = bench.per_set(pair.same() ? 2 * size : size, [=] {
    Buffers made{gpubench::buffer_on<word>(pair.from, n), gpubench::buffer_on<word>(pair.to, n)};
    const CurrentDevice there(pair.from);
    gpubench::fill_random(made.source.data(), n, values);
    CUDA_CHECK(cudaDeviceSynchronize());
    made.target.set(gpubench::poison_byte);
    return made;
  });
  bench.check([&](bool only_written) {
    return gpubench::check_on(pair.to, buffers->target, values, only_written);
  });
  gpubench::note_connection(bench, pair);
  const auto amount = static_cast<double>(size);
  bench.work({.useful_bytes = amount,
              .moved_bytes = pair.same() ? 2 * amount : amount,  // its memory reads and writes
              .moved_through = pair.same() ? "dram" : "link",
              .law = law_of(bench, pair, amount),
              .law_tolerance = 0.1,  // a kernel's loads queue where the memory is busy
              .bound = size == little ? "launch"
                       : pair.same()  ? "dram"
                                      : "link"});
  const CurrentDevice here(mine);
  bench.run([&](cudaStream_t s) { move(s, buffers->source.data(), buffers->target.data(), n); });
}

template <std::size_t size>
void by_driver(Bench& bench) {
  const Peers pair = gpubench::peers_of(bench);
  if (!pair.same()) gpubench::note_access(bench, pair);
  run(bench, pair, pair.from, size, [](cudaStream_t s, const word* from, word* to, std::size_t n) {
    CUDA_CHECK(cudaMemcpyAsync(to, from, n * sizeof(word), cudaMemcpyDeviceToDevice, s));
  });
  if (size == bulk) compare(bench, pair, static_cast<double>(size));
}

// A kernel of the GPU that the bytes are for.
void load(Bench& bench) {
  const Peers pair = gpubench::peers_of(bench);
  if (!pair.same() && !gpubench::let_access(pair.to, pair.from)) {
    bench.skip("GPU " + std::to_string(pair.to) + " cannot access the memory of GPU " +
               std::to_string(pair.from));
  }
  run(bench, pair, pair.to, bulk, [](cudaStream_t s, const word* from, word* to, std::size_t n) {
    launch(copy_words::copy, copy_words::blocks(n), copy_words::threads, 0, s, from, to, n);
  });
  compare(bench, pair, bulk);
}

void pairs(Registration* rows) {
  rows->ArgNames({"from", "to"})->ArgsProduct({{0}, {0, 1}});
  rows->Rest(Suite::full)->ArgsProduct({gpubench::dense_range(0, 7), gpubench::dense_range(0, 7)});
}
GPU_BENCHMARK_AS(topology, copy, by_driver<bulk>)->Apply(pairs);
GPU_BENCHMARK(topology, load)->Apply(pairs);
GPU_BENCHMARK_AS(topology, latency, by_driver<little>)->Apply(pairs);

}  // namespace
