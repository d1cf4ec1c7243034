// clusters: blocks that run at the same time and share their shared memory.
//
// `chase`: one thread follows a ring of offsets through its own block's shared memory, or through
// that of the cluster's other blocks. `barrier`: the cluster meets over and over. `read`: every
// block reads all of the next one's. `empty`: a launch and nothing else. `sum`: every thread adds
// up words, every block its threads' sums, and the first block of each cluster its blocks', which
// it fetches from their shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cluster.hpp"
#include "dynamic_shared.hpp"

namespace clusters {

inline constexpr unsigned warp = 32;

// --- latency ---

inline constexpr unsigned chase_threads = 32;
inline constexpr unsigned ring_words = 1024;
inline constexpr unsigned ring_bytes = ring_words * sizeof(unsigned);
inline constexpr unsigned ring_step = 4 * 397;  // bytes from one word of the ring to the next
inline constexpr unsigned stretch = 240;        // links through one block's memory

// Every block has a step of its own, so that the end of a chase says whose memory was read.
__host__ __device__ constexpr unsigned ring_step_of(unsigned rank) { return ring_step + 16 * rank; }

// One cluster: `steps`, a multiple of `stretch`, links through the other blocks' memory in turns
// (`others`), or through its own. What a load brings is the next one's offset in bytes.
template <bool others>
__global__ void chase(unsigned steps, unsigned* end) {
  auto* const ring = static_cast<unsigned*>(dynamic_shared());
  const unsigned step = ring_step_of(cluster_rank());
  for (unsigned i = threadIdx.x; i < ring_words; i += chase_threads) {
    ring[i] = (4 * i + step) % ring_bytes;
  }
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) {
    unsigned at = 0, rank = 0;
    for (unsigned done = 0; done < steps; done += stretch) {
      const unsigned* of = ring;
      if constexpr (others) {
        rank = rank + 1 < cluster_blocks() ? rank + 1 : 1;
        of = shared_of(ring, rank);
      }
#pragma unroll 16
      for (unsigned k = 0; k < stretch; ++k) {
        at = *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(of) + at);
      }
    }
    *end = at;
  }
  cluster_sync();  // the others stay as long as their memory is read
}

// Where a chase of `steps` links ends in a cluster of so many blocks.
constexpr unsigned end_of_chase(unsigned steps, unsigned blocks) {
  unsigned at = 0, rank = 0;
  for (unsigned done = 0; done < steps; done += stretch) {
    if (blocks > 1) rank = rank + 1 < blocks ? rank + 1 : 1;
    at = (at + stretch * ring_step_of(rank)) % ring_bytes;
  }
  return at;
}

inline constexpr unsigned barrier_threads = 32;

// One cluster meets `rounds` times. In the end every block has what the next one wrote before the
// last time.
[[maybe_unused]] static __global__ void barrier(unsigned rounds, unsigned* ends) {
  auto* const word = static_cast<unsigned*>(dynamic_shared());
  const unsigned rank = cluster_rank(), blocks = cluster_blocks();
#pragma unroll 1
  for (unsigned round = 1; round < rounds; ++round) cluster_sync();
  if (threadIdx.x == 0) *word = rounds + rank;
  cluster_sync();
  if (threadIdx.x == 0) ends[rank] = *shared_of(word, rank + 1 < blocks ? rank + 1 : 0);
  cluster_sync();  // the next one stays as long as its memory is read
}
struct ExpectedBarrier {
  unsigned rounds, blocks;
  __host__ __device__ unsigned operator()(std::size_t rank) const {
    return rounds + static_cast<unsigned>((rank + 1) % blocks);
  }
};

// --- sums of what was read ---

// The sum of `value` over the block's `threads` threads; the first warp gets it. `slots`: a word
// for each warp, not to be used before the next barrier. (The static array of block_sum() would be
// one for all blocks of a cluster on the model.)
template <unsigned threads, class S>
__device__ S sum_of_block(S value, S* slots) {
  for (unsigned offset = warp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, static_cast<int>(offset));
  }
  if (threadIdx.x % warp == 0) slots[threadIdx.x / warp] = value;
  __syncthreads();
  if (threadIdx.x >= warp) return value;
  value = threadIdx.x < threads / warp ? slots[threadIdx.x] : S{0};
  for (unsigned offset = warp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, static_cast<int>(offset));
  }
  return value;
}

// --- bandwidth ---

inline constexpr unsigned read_threads = 256;
inline constexpr unsigned read_rounds = 16;
inline constexpr unsigned reads_at_once = 8;
inline constexpr unsigned read_vectors = read_threads * reads_at_once;  // 32 KiB
inline constexpr std::size_t read_shared_bytes =
    sizeof(uint4) * read_vectors + sizeof(unsigned) * read_threads / warp;
inline constexpr double bytes_read_a_block =
    static_cast<double>(sizeof(uint4)) * read_threads * reads_at_once * read_rounds;

// All lanes read vectors of 16 bytes of the next block's memory, next to each other, eight in
// flight; each round reads all of it, in whole sectors. Every block of a cluster fills its memory
// with another part of `in`.
[[maybe_unused]] static __global__ void __launch_bounds__(read_threads)
    read(const uint4* in, unsigned* sums) {
  auto* const own = static_cast<uint4*>(dynamic_shared());
  const unsigned rank = cluster_rank(), blocks = cluster_blocks();
  for (unsigned i = threadIdx.x; i < read_vectors; i += read_threads) {
    own[i] = in[rank * read_vectors + i];
  }
  cluster_sync();
  const uint4* const next = shared_of(own, rank + 1 < blocks ? rank + 1 : 0);
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned round = 0; round < read_rounds; ++round) {
    uint4 got[reads_at_once];
#pragma unroll
    for (unsigned k = 0; k < reads_at_once; ++k) {
      got[k] = next[(threadIdx.x + read_threads * k + 2 * round) % read_vectors];
    }
#pragma unroll
    for (unsigned k = 0; k < reads_at_once; ++k) {
      sum += got[k].x + got[k].y + got[k].z + got[k].w;
    }
  }
  sum = sum_of_block<read_threads>(sum, reinterpret_cast<unsigned*>(own + read_vectors));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  cluster_sync();
}

// What each block's sum must come to.
template <class Words>
struct ExpectedRead {
  Words in;
  unsigned cluster;
  __host__ __device__ unsigned operator()(std::size_t block) const {
    const auto next = static_cast<unsigned>((block % cluster + 1) % cluster);
    unsigned sum = 0;
    for (unsigned w = 0; w < 4 * read_vectors; ++w) sum += in(4 * read_vectors * next + w);
    return sum * read_rounds;
  }
};

// --- launches ---

inline constexpr unsigned empty_threads = 32;
inline constexpr unsigned empty_blocks = 16;

// Counts launches by the blocks of their clusters, so that one without clusters shows. While it is
// timed it is given no counter.
[[maybe_unused]] static __global__ void empty(unsigned* count) {
  if (count != nullptr && blockIdx.x == 0 && threadIdx.x == 0) *count += cluster_blocks();
}

// --- a sum ---

inline constexpr unsigned sum_threads = 512;
inline constexpr unsigned sum_loads_at_once = 4;
inline constexpr unsigned vectors_a_round = sum_threads * sum_loads_at_once;  // of a block
inline constexpr std::size_t sum_shared_bytes = sizeof(float) * (sum_threads / warp + 1);

// Adds vectors in rounds, as all blocks together get to them; sums[c] is what cluster c has added.
[[maybe_unused]] static __global__ void __launch_bounds__(sum_threads)
    sum(const float4* in, std::size_t vectors, float* sums) {
  auto* const total = static_cast<float*>(dynamic_shared());
  const std::size_t apart = std::size_t{gridDim.x} * vectors_a_round;
  float mine = 0;
#pragma unroll 1
  for (std::size_t first = std::size_t{blockIdx.x} * vectors_a_round + threadIdx.x; first < vectors;
       first += apart) {
    float4 got[sum_loads_at_once];
#pragma unroll
    for (unsigned k = 0; k < sum_loads_at_once; ++k) {
      const std::size_t at = first + k * sum_threads;
      got[k] = at < vectors ? in[at] : make_float4(0, 0, 0, 0);
    }
#pragma unroll
    for (unsigned k = 0; k < sum_loads_at_once; ++k) {
      mine += (got[k].x + got[k].y) + (got[k].z + got[k].w);
    }
  }
  mine = sum_of_block<sum_threads>(mine, total + 1);
  if (threadIdx.x == 0) *total = mine;
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x < warp) {
    float value = threadIdx.x == 0 ? mine : 0.0f;
    if (threadIdx.x > 0 && threadIdx.x < cluster_blocks()) value = *shared_of(total, threadIdx.x);
    for (unsigned offset = warp / 2; offset > 0; offset /= 2) {
      value += __shfl_xor_sync(0xffffffffu, value, static_cast<int>(offset));
    }
    if (threadIdx.x == 0) sums[blockIdx.x / cluster_blocks()] = value;
  }
  cluster_sync();
}

// What cluster c of `clusters` must come to, of `vectors` vectors: its blocks add up neighbours.
template <class Words>
struct ExpectedSum {
  Words in;
  std::size_t vectors;
  unsigned cluster, clusters;
  __host__ __device__ float operator()(std::size_t c) const {
    const std::size_t run = std::size_t{cluster} * vectors_a_round;
    double sum = 0;
    for (std::size_t first = c * run; first < vectors; first += clusters * run) {
      for (std::size_t v = first; v < first + run && v < vectors; ++v) {
        for (std::size_t w = 0; w < 4; ++w) sum += in(4 * v + w);
      }
    }
    return static_cast<float>(sum);
  }
};

}  // namespace clusters
