// memory_hierarchy: reads whose data stay where they can.
//
// `read`: every SM reads all of a working set, over and over, 16 bytes per lane and eight loads in
// flight. `touch` and `chase`: a ring of pointers, one in each line of 128 bytes; a line is touched
// once, so that L2 has what fits; then one thread goes from line to line, and each load gives the
// next one's address. `strided`: a warp's loads from L1, words `stride` apart. `shared_read` and
// `shared_chase`: the same of shared memory. `line_latencies`: by the SM's clock.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <device_clock.hpp>
#include <numeric>
#include <span>

#include "kernels/common/block_sum.cuh"

namespace memory_hierarchy {

// --- bandwidth ---

inline constexpr unsigned read_threads = 512;
inline constexpr unsigned loads_a_thread = 32;
inline constexpr unsigned loads_at_once = 8;
inline constexpr std::size_t bytes_a_block = sizeof(uint4) * read_threads * loads_a_thread;

// Which of `pieces` pieces block `block` reads: each is read once before any is read again, and
// blocks a power of two apart read different ones.
__host__ __device__ inline std::size_t piece_read(std::size_t block, std::size_t pieces) {
  return (block + block / pieces * 101) % pieces;
}

// Which vector of a working set of `vectors` block `block` reads as its thread's k-th. Blocks share
// the set in pieces as large as they read, each beginning at another place in it, so that they do
// not all ask for the same line. A smaller set is a power of two and read several times.
__host__ __device__ inline std::size_t vector_read(std::size_t block, unsigned k, unsigned thread,
                                                   std::size_t vectors) {
  constexpr std::size_t a_piece = read_threads * loads_a_thread;
  const std::size_t pieces = vectors / a_piece;
  const std::size_t turned = (k + block * 11) % loads_a_thread * read_threads + thread;
  return pieces > 0 ? piece_read(block, pieces) * a_piece + turned : turned % vectors;
}

static __global__ void __launch_bounds__(read_threads)
    read(const uint4* in, std::size_t vectors, unsigned* sums) {
  constexpr std::size_t a_piece = read_threads * loads_a_thread;
  const std::size_t pieces = vectors / a_piece;
  const uint4* piece = pieces > 0 ? in + piece_read(blockIdx.x, pieces) * a_piece : in;
  const auto last = static_cast<unsigned>((pieces > 0 ? a_piece : vectors) - 1);  // all ones
  const unsigned turn = blockIdx.x * 11u;
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned first = 0; first < loads_a_thread; first += loads_at_once) {
    uint4 got[loads_at_once];
#pragma unroll
    for (unsigned k = 0; k < loads_at_once; ++k) {
      got[k] = piece[((first + k + turn) % loads_a_thread * read_threads + threadIdx.x) & last];
    }
#pragma unroll
    for (unsigned k = 0; k < loads_at_once; ++k) sum += got[k].x + got[k].y + got[k].z + got[k].w;
  }
  write_block_sum<read_threads>(sum, sums);
}

// The sum that block `block` leaves, of words `in`.
template <class Words>
struct ExpectedSum {
  Words in;
  std::size_t vectors;
  __host__ __device__ unsigned operator()(std::size_t block) const {
    unsigned sum = 0;
    for (unsigned k = 0; k < loads_a_thread; ++k) {
      for (unsigned t = 0; t < read_threads; ++t) {
        const std::size_t at = 4 * vector_read(block, k, t, vectors);
        for (unsigned w = 0; w < 4; ++w) sum += in(at + w);
      }
    }
    return sum;
  }
};

// What a chase must end at.
template <class T>
struct Always {
  T value;
  __host__ __device__ T operator()(std::size_t) const { return value; }
};

// --- latency ---

inline constexpr std::size_t line = 128;  // bytes
inline constexpr unsigned touch_threads = 256;
inline constexpr std::size_t lines_a_block = 4096;

struct alignas(line) Link {
  const Link* next;
};

// How far the ring goes from one of `lines` lines to the next: a number without a common divisor
// with `lines`, near the golden section, so that neighbours in time are none in memory.
inline std::size_t ring_step(std::size_t lines) {
  auto step = static_cast<std::size_t>(0.6180339887 * static_cast<double>(lines)) | 1;
  while (std::gcd(lines, step) != 1) step += 2;
  return step;
}

// What a buffer that holds the ring is filled with, in words of 8 bytes.
struct Ring {
  std::uint64_t begin;  // the buffer's address
  std::size_t lines, step;
  __host__ __device__ std::uint64_t operator()(std::size_t word) const {
    constexpr std::size_t words = line / sizeof(std::uint64_t);
    const std::size_t at = word / words;
    return word % words == 0 && at < lines ? begin + (at + step) % lines * line : 0;
  }
};

// Reads every line of the ring once. Addresses of lines never add up to 1.
static __global__ void touch(const Link* ring, std::size_t lines, std::uint64_t* never) {
  std::uint64_t sum = 0;
#pragma unroll 4
  for (unsigned k = 0; k < lines_a_block / touch_threads; ++k) {
    const std::size_t at = blockIdx.x * lines_a_block + k * touch_threads + threadIdx.x;
    if (at < lines) sum += reinterpret_cast<std::uint64_t>(ring[at].next);
  }
  if (sum == 1) *never = sum;
}

// One thread: `steps`, a multiple of 16, links from `begin` on.
static __global__ void chase(const Link* begin, unsigned steps, const Link** end) {
  const Link* at = begin;
  for (unsigned s = 0; s < steps; s += 16) {
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) at = load_pointer(&at->next);
  }
  *end = at;
}

// --- cycles of L1 ---

inline constexpr unsigned strided_threads = 1024;
inline constexpr unsigned strided_rounds = 16;
inline constexpr unsigned most_stride = 63;
inline constexpr unsigned strided_words = 64 * (most_stride + 1);  // 16 KiB
inline constexpr unsigned warp = 32;

// Every warp's lanes load words `stride` apart, at eight offsets in turn; two warps share what they
// read with the others, so that all of it stays in L1. `zero` is 0, and the compiler does not know.
[[maybe_unused]] static __global__ void __launch_bounds__(strided_threads)
    strided(const unsigned* in, unsigned stride, unsigned zero, unsigned* sums) {
  const unsigned* own = in + threadIdx.x % 64 * stride;
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned round = 0; round < strided_rounds; ++round) {
    own += zero;
    unsigned got[8];
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) got[k] = own[4 * k];
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) sum += got[k];
  }
  write_block_sum<strided_threads>(sum, sums);
}

template <class Words>
struct ExpectedStrided {
  Words in;
  unsigned stride;
  __host__ __device__ unsigned operator()(std::size_t) const {
    unsigned sum = 0;
    for (unsigned lane = 0; lane < 64; ++lane) {
      for (unsigned k = 0; k < 8; ++k) sum += in(lane * stride + 4 * k);
    }
    return sum * (strided_threads / 64) * strided_rounds;
  }
};

// What theory says that a load takes, in passes of L1: its words by banks as of shared memory, or
// the tags of its lines, of which a pass looks up one in each of four banks (a line is in the bank
// that is the exclusive or of its number's pairs of bits); on average over what a block reads.
constexpr double strided_passes(unsigned stride, double data_passes_a_wavefront) {
  const unsigned conflicts = stride == 0 ? 1 : std::gcd(stride, warp);
  double tags = 0;
  for (unsigned first = 0; first < 64; first += warp) {
    for (unsigned offset = 0; offset < 32; offset += 4) {
      unsigned in_bank[4] = {0, 0, 0, 0}, most = 0, last = ~0u;
      for (unsigned lane = first; lane < first + warp; ++lane) {
        const unsigned number = (lane * stride + offset) / warp;
        if (number == last) continue;
        last = number;
        const unsigned bank = (number ^ number >> 2 ^ number >> 4 ^ number >> 6) % 4;
        most = std::max(most, ++in_bank[bank]);
      }
      tags += most / 16.0;
    }
  }
  return std::max(conflicts * data_passes_a_wavefront, tags);
}

// --- shared memory ---

inline constexpr unsigned shared_threads = 512;
inline constexpr unsigned shared_rounds = 32;
inline constexpr unsigned shared_vectors = 512;  // 8 KiB

// All lanes read vectors of 16 bytes, next to each other, eight in flight.
[[maybe_unused]] static __global__ void __launch_bounds__(shared_threads)
    shared_read(const uint4* in, unsigned* sums) {
  __shared__ uint4 tile[shared_vectors];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned round = 0; round < shared_rounds; ++round) {
    uint4 got[8];
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      got[k] = tile[(threadIdx.x + 32 * k + round) % shared_vectors];
    }
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) sum += got[k].x + got[k].y + got[k].z + got[k].w;
  }
  write_block_sum<shared_threads>(sum, sums);
}

// Every vector is read by as many lanes as every other.
template <class Words>
struct ExpectedShared {
  Words in;
  __host__ __device__ unsigned operator()(std::size_t) const {
    unsigned sum = 0;
    for (unsigned w = 0; w < 4 * shared_vectors; ++w) sum += in(w);
    return sum * 8 * shared_rounds;
  }
};

inline constexpr unsigned shared_words = 1024;
inline constexpr unsigned shared_step = 4 * 397;  // bytes from one word of the ring to the next

// The same chase, where what a load brings is the next one's offset in bytes.
[[maybe_unused]] static __global__ void shared_chase(unsigned steps, unsigned* end) {
  __shared__ unsigned ring[shared_words];
  for (unsigned i = threadIdx.x; i < shared_words; i += blockDim.x) {
    ring[i] = (4 * i + shared_step) % (4 * shared_words);
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  unsigned at = 0;
  for (unsigned s = 0; s < steps; s += 16) {
#pragma unroll
    for (unsigned k = 0; k < 16; ++k) {
      at = *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(ring) + at);
    }
  }
  *end = at;
}

// --- near and far ---

inline constexpr unsigned lines_timed = 512;

// One thread per SM: the cycles that each of the first `lines_timed` lines takes from L2, the least
// of eight times.
[[maybe_unused]] static __global__ void line_latencies(const Link* ring, float* cycles) {
  [[maybe_unused]] __shared__ volatile std::uint64_t brought;
  for (unsigned i = 0; i < lines_timed; ++i) {
    long long least = 1 << 30;
    for (unsigned again = 0; again < 8; ++again) {
      const long long before = sm_cycles();
      // The store has to wait for the load, and comes before the clock's second reading.
      brought = load_from_l2(&ring[i].next);
      const long long after = sm_cycles();
      least = after - before < least ? after - before : least;
    }
    cycles[blockIdx.x * lines_timed + i] = static_cast<float>(least);
  }
}

// Two groups of latencies, and the share of the slower one; far == near if there is only one, which
// is taken to be so when the groups' means are less than a fifth apart.
struct NearAndFar {
  double near = 0, far = 0, far_share = 0;
};
inline NearAndFar near_and_far(std::span<const float> cycles) {
  const auto [least, most] = std::minmax_element(cycles.begin(), cycles.end());
  double centres[2] = {*least, *most};
  std::size_t far = 0;
  for (int i = 0; i < 20; ++i) {  // two means
    double sums[2] = {0, 0};
    std::size_t numbers[2] = {0, 0};
    for (const float c : cycles) {
      const int group = c - centres[0] > centres[1] - c ? 1 : 0;
      sums[group] += static_cast<double>(c);
      ++numbers[group];
    }
    for (int g = 0; g < 2; ++g) {
      if (numbers[g] > 0) centres[g] = sums[g] / static_cast<double>(numbers[g]);
    }
    far = numbers[1];
  }
  const double share = static_cast<double>(far) / static_cast<double>(cycles.size());
  if (centres[1] < 1.2 * centres[0]) {
    const double mean = centres[0] * (1 - share) + centres[1] * share;
    return {mean, mean, 0};
  }
  return {centres[0], centres[1], share};
}

}  // namespace memory_hierarchy
