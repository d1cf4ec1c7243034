// reduction: one sum of many words, each time a little better.
//
// Most kernels write one sum per block and are launched again on those until one is left. The
// comment above each says what it adds to the one before.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "dynamic_shared.hpp"
#include "kernels/common/block_sum.cuh"

namespace reduction {

inline constexpr unsigned threads = 256;
inline constexpr unsigned warp = 32;

// --- a tree in shared memory: at level 1, 2, 4, ... words are added in pairs ---

// Every second, fourth, ... thread works: the branch takes lanes out of every warp.
struct Divergent {
  __host__ __device__ static constexpr bool is_active(unsigned t, unsigned level) {
    return t % (2 * level) == 0;
  }
  __host__ __device__ static constexpr unsigned to(unsigned t, unsigned) { return t; }
  __host__ __device__ static constexpr unsigned distance(unsigned level) { return level; }
};
// The first half, quarter, ... of the threads works, on the same words: whole warps retire, and
// those that are left meet in the same banks.
struct Conflicting {
  __host__ __device__ static constexpr bool is_active(unsigned t, unsigned level) {
    return t < threads / 2 / level;
  }
  __host__ __device__ static constexpr unsigned to(unsigned t, unsigned level) {
    return 2 * level * t;
  }
  __host__ __device__ static constexpr unsigned distance(unsigned level) { return level; }
};
// Halves are added, not neighbours: lanes stay side by side.
struct Sequential {
  __host__ __device__ static constexpr bool is_active(unsigned t, unsigned level) {
    return t < threads / 2 / level;
  }
  __host__ __device__ static constexpr unsigned to(unsigned t, unsigned) { return t; }
  __host__ __device__ static constexpr unsigned distance(unsigned level) {
    return threads / 2 / level;
  }
};

// `loads` words per thread, added on their way in: with two, no thread is idle from the start, and
// there are half as many blocks. `unrolled`: the last warp needs no barrier and no loop.
template <class Order, unsigned loads, bool unrolled>
__global__ void tree(const float* in, float* sums, std::size_t n) {
  // volatile: every access is made, and made as it stands here. The accesses are the lesson, and
  // the compiler would join some.
  __shared__ volatile float partial[threads];
  const std::size_t first = blockIdx.x * std::size_t{threads * loads} + threadIdx.x;
  float got[loads];
#pragma unroll
  for (unsigned k = 0; k < loads; ++k) {
    const std::size_t i = first + k * threads;
    got[k] = i < n ? in[i] : 0.0f;
  }
  float sum = got[0];
#pragma unroll
  for (unsigned k = 1; k < loads; ++k) sum += got[k];
  partial[threadIdx.x] = sum;
  constexpr unsigned levels = unrolled ? threads / warp / 2 : threads;  // the first without
  for (unsigned level = 1; level < levels; level *= 2) {
    __syncthreads();
    if (!Order::is_active(threadIdx.x, level)) continue;
    const unsigned to = Order::to(threadIdx.x, level);
    partial[to] = partial[to] + partial[to + Order::distance(level)];
  }
  if constexpr (unrolled) {
    __syncthreads();
    if (threadIdx.x >= warp) return;
    sum = partial[threadIdx.x];
#pragma unroll
    for (unsigned distance = warp; distance > 0; distance /= 2) {
      sum += partial[threadIdx.x + distance];
      __syncwarp();
      partial[threadIdx.x] = sum;
      __syncwarp();
    }
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

// Exchanges between registers take the place of shared memory, and of all barriers but one.
[[maybe_unused]] static __global__ void shuffled(const float* in, float* sums, std::size_t n) {
  const std::size_t first = blockIdx.x * std::size_t{2 * threads} + threadIdx.x;
  const float one = first < n ? in[first] : 0.0f;
  const float other = first + threads < n ? in[first + threads] : 0.0f;
  write_block_sum<threads>(one + other, sums);
}

// --- a grid that stays: as many blocks as fit, each of which strides through all of `in` ---

inline constexpr unsigned words_a_round = 16;  // of a thread: four vectors, all in flight at once

// What one thread adds up: words of 16 bytes per load, and one of those that fill no vector.
__device__ inline float sum_of_thread(const float* in, std::size_t n) {
  const auto* vectors = reinterpret_cast<const float4*>(in);
  const std::size_t all = n / 4, step = gridDim.x * std::size_t{threads};
  const std::size_t me = blockIdx.x * std::size_t{threads} + threadIdx.x;
  constexpr unsigned in_flight = words_a_round / 4;
  float sum = 0;
  std::size_t at = me;
  for (; at + (in_flight - 1) * step < all; at += in_flight * step) {
    float4 got[in_flight];
#pragma unroll
    for (unsigned k = 0; k < in_flight; ++k) got[k] = vectors[at + k * step];
#pragma unroll
    for (unsigned k = 0; k < in_flight; ++k) sum += got[k].x + got[k].y + got[k].z + got[k].w;
  }
  for (; at < all; at += step) {
    const float4 got = vectors[at];
    sum += got.x + got.y + got.z + got.w;
  }
  if (4 * all + me < n) sum += in[4 * all + me];
  return sum;
}

[[maybe_unused]] static __global__ void grid_stride(const float* in, float* sums, std::size_t n) {
  write_block_sum<threads>(sum_of_thread(in, n), sums);
}

// One launch: the block that is last to draw a ticket adds up the blocks' sums, and puts the ticket
// back to 0. The fence is what makes a block's sum visible before its ticket is drawn.
[[maybe_unused]] static __global__ void last_block(const float* in, float* sums, float* out,
                                                   unsigned* ticket, std::size_t n) {
  __shared__ bool is_last;
  write_block_sum<threads>(sum_of_thread(in, n), sums);
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  const volatile float* others = sums;
  float sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += threads) sum += others[i];
  sum = block_sum<threads>(sum);
  if (threadIdx.x > 0) return;
  *out = sum;
  *ticket = 0;
}

// One cooperative launch: all blocks are resident at once and meet, and one of them adds up their
// sums. (Dynamic memory: of a static array the model has one for all blocks that run together.)
inline constexpr unsigned grid_sync_shared_bytes = threads / warp * sizeof(float);
[[maybe_unused]] static __global__ void grid_sync(const float* in, float* sums, float* out,
                                                  std::size_t n) {
  auto* const partial = static_cast<float*>(dynamic_shared());
  const float mine = block_sum_in<threads>(partial, sum_of_thread(in, n));
  if (threadIdx.x == 0) sums[blockIdx.x] = mine;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x > 0) return;
  float sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += threads) sum += sums[i];
  sum = block_sum_in<threads>(partial, sum);
  if (threadIdx.x == 0) *out = sum;
}

// One launch: every block adds its sum to *out, which must be 0 before. They take turns there, in
// any order, and so does rounding.
[[maybe_unused]] static __global__ void atomic_sums(const float* in, float* sums, float* out,
                                                    std::size_t n) {
  const float sum = block_sum<threads>(sum_of_thread(in, n));
  if (threadIdx.x > 0) return;
  sums[blockIdx.x] = sum;  // what the check looks at
  atomicAdd(out, sum);
}

// --- what they must compute ---

// The sum of block `block` of kernels that take so many words per block, side by side.
template <class Source>
struct ExpectedSideBySide {
  Source in;
  std::size_t n;
  unsigned words_a_block;
  __host__ __device__ double operator()(std::size_t block) const {
    double sum = 0;
    const std::size_t end = (block + 1) * words_a_block;
    for (std::size_t i = block * words_a_block; i < end && i < n; ++i) sum += in(i);
    return sum;
  }
};

// The same of a grid that strides.
template <class Source>
struct ExpectedStriding {
  Source in;
  std::size_t n;
  unsigned blocks;
  __host__ __device__ double operator()(std::size_t block) const {
    double sum = 0;
    const std::size_t all = n / 4, step = std::size_t{blocks} * threads;
    for (unsigned t = 0; t < threads; ++t) {
      const std::size_t me = block * threads + t;
      for (std::size_t v = me; v < all; v += step) {
        for (unsigned k = 0; k < 4; ++k) sum += in(4 * v + k);
      }
      if (4 * all + me < n) sum += in(4 * all + me);
    }
    return sum;
  }
};

// --- what theory says they cost ---

// Loads of one block's tree from shared memory, and passes over the banks that they take.
struct Loads {
  unsigned requests = 0, wavefronts = 0;
  constexpr double wavefronts_a_request() const {
    return static_cast<double>(wavefronts) / requests;
  }
};

// Lanes of a warp want different words, which queue where they share a bank.
template <class Order>
constexpr Loads loads_of_level(unsigned level) {
  Loads loads;
  for (unsigned first = 0; first < threads; first += warp) {
    unsigned queue[warp] = {}, longest = 0;
    for (unsigned t = first; t < first + warp; ++t) {
      if (!Order::is_active(t, level)) continue;
      const unsigned length = ++queue[Order::to(t, level) % warp];
      longest = length > longest ? length : longest;
    }
    if (longest == 0) continue;  // a warp that has retired
    loads.requests += 2;         // the other word lies at one distance for all
    loads.wavefronts += 2 * longest;
  }
  return loads;
}

template <class Order, bool unrolled>
constexpr Loads loads_of_tree() {
  Loads sum{1, 1};  // the result
  for (unsigned level = 1; level < (unrolled ? threads / warp / 2 : threads); level *= 2) {
    const Loads loads = loads_of_level<Order>(level);
    sum.requests += loads.requests;
    sum.wavefronts += loads.wavefronts;
  }
  if (unrolled) {  // a word of each lane's own, then six at a distance: 32 to 1
    sum.requests += 7;
    sum.wavefronts += 7;
  }
  return sum;
}

}  // namespace reduction
