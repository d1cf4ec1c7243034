// stream_overlap: copies to the device, kernels and copies back, in chunks on several streams.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/common/link.cuh"
#include "kernels/common/paced_work.cuh"

namespace stream_overlap {

using word = float;
inline constexpr std::size_t words = std::size_t{1} << 21;
inline constexpr double bytes = words * sizeof(word);  // one way
using host_link::Link;
using host_link::link_of;

// One word per thread.
[[maybe_unused]] static __global__ void transform(const word* in, word* out, unsigned rounds) {
  const std::size_t i = blockIdx.x * std::size_t{paced_work::threads} + threadIdx.x;
  out[i] = paced_work::after(in[i], rounds);
}

// What some library does between the chunks, in whatever its default stream is.
[[maybe_unused]] static __global__ void report_progress(unsigned* done, unsigned chunk) {
  *done = chunk;
}

// --- what it must compute ---

struct ExpectedProgress {
  unsigned chunks;
  __host__ __device__ unsigned operator()(std::size_t) const { return chunks - 1; }
};

// --- what theory says it costs ---

// Seconds that one chunk needs of each engine. With `one_engine` both copies need the same. During
// the `lead`, a part of the kernel's, another stream's kernel may be at work.
struct Stages {
  double to_device, kernel, to_host;
  bool one_engine;
  double lead;

  constexpr double sum() const { return to_device + kernel + to_host; }
  constexpr double longest() const {
    const double copies = to_device + to_host;
    const double copy = one_engine ? copies : to_device > to_host ? to_device : to_host;
    return copy > kernel - lead ? copy : kernel - lead;
  }
};

// Equal chunks, handed to the streams in turn: the first runs through all stages, every other
// follows when the longest stage is free. A stream takes its next chunk only when it has finished
// the last, so too few of them make everybody wait for the sum; with one, nothing overlaps.
constexpr double pipeline_seconds(const Stages& s, unsigned chunks, unsigned streams) {
  const double a_round = streams * s.longest() > s.sum() ? streams * s.longest() : s.sum();
  return s.sum() + (chunks - 1) / streams * a_round + (chunks - 1) % streams * s.longest();
}

// Nothing overlaps, and something of its own follows each chunk.
constexpr double serial_seconds(const Stages& s, unsigned chunks, double after_each) {
  return chunks * (s.sum() + after_each);
}

}  // namespace stream_overlap
