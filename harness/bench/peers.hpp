// Rows that move bytes between two GPUs of this machine.
#pragma once

#include <cstddef>
#include <string>

#include "harness/bench/bench.hpp"
#include "harness/cuda/device.hpp"

namespace gpubench {

// Bytes go from one to the other, or stay where they are.
struct Peers {
  int from, to;

  bool same() const { return from == to; }
};

// Skips the row on machines with fewer GPUs.
inline void needs_gpus(const Bench& bench, int needed) {
  int gpus = 0;
  CUDA_CHECK(cudaGetDeviceCount(&gpus));
  if (gpus >= needed) return;
  bench.skip("needs " + std::to_string(needed) + " GPUs; there " +
             (gpus == 1 ? "is 1" : "are " + std::to_string(gpus)));
}

// What the row's axes `from` and `to` say.
inline Peers peers_of(const Bench& bench) {
  const Peers peers{bench.arg<int>("from"), bench.arg<int>("to")};
  needs_gpus(bench, std::max(peers.from, peers.to) + 1);
  return peers;
}

// Lets the first GPU access the memory of the second where it can, and notes the way that copies
// take.
inline bool note_access(Bench& bench, const Peers& peers) {
  const bool direct = let_access(peers.from, peers.to);
  bench.note("peer_access", direct ? "direct" : "through the host");
  return direct;
}

// Notes what the driver says connects the two.
inline void note_connection(Bench& bench, const Peers& peers) {
  if (peers.same()) return bench.note("connection", "same GPU");
  if (const std::string words = bench.connection(peers.from, peers.to); !words.empty()) {
    bench.note("connection", words);
  }
  const auto attribute = [&](const char* name, cudaDeviceP2PAttr which) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetP2PAttribute(&value, which, peers.from, peers.to));
    bench.note(name, value);
  };
  attribute("p2p_performance_rank", cudaDevP2PAttrPerformanceRank);
  attribute("p2p_native_atomics", cudaDevP2PAttrNativeAtomicSupported);
}

// A buffer in the memory of `gpu`.
template <class T>
DeviceBuffer<T> buffer_on(int gpu, std::size_t elements) {
  const CurrentDevice there(gpu);
  return DeviceBuffer<T>(elements);
}

// "" or what is wrong there: as Bench::verify() checks the row's own GPU.
template <class T, class Expected>
std::string check_on(int gpu, const DeviceBuffer<T>& got, Expected expected, bool only_written) {
  const CurrentDevice there(gpu);
  return check_elements(got.data(), got.size(), expected, 0, 0, only_written);
}

}  // namespace gpubench
