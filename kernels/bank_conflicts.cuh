// bank_conflicts: what a warp pays when its lanes want different words of one bank.
//
// Shared memory has 32 banks of 4-byte words; in a wavefront each bank delivers one word, to any
// number of lanes. All kernels fill a tile of shared memory from global memory, and read it in a
// pattern.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/bank_conflicts/banks.cuh"
#include "kernels/bank_conflicts/matrices.cuh"
#include "kernels/bank_conflicts/narrow.cuh"
#include "kernels/bank_conflicts/stores.cuh"
#include "kernels/common/transposed.cuh"

namespace bank_conflicts {

// --- a pattern of lanes, read over and over ---

inline constexpr unsigned tile_elements = window + (unroll - 1) * banks;

template <class Vector>
inline constexpr unsigned rounds = bytes_a_thread / sizeof(Vector) / unroll;

// Which element a lane reads: groups of `sharing` lanes the same one, groups `stride` elements
// apart.
struct Pattern {
  unsigned stride, sharing;
  __host__ __device__ unsigned operator()(unsigned lane) const { return lane / sharing * stride; }
  // Each lane reads an element of its own.
  constexpr bool is_one_to_one() const { return sharing == 1 && stride > 0; }
};

// `Vector` is what a lane reads at once: 4, 8 or 16 bytes. From round to round the whole warp moves
// on by an element, and from read to read by a row of banks, so that no read can be left out and
// all of them conflict alike. Each thread writes the sum of what it read.
template <class Vector>
__global__ void read(const Vector* in, float* sums, Pattern pattern) {
  constexpr unsigned words = sizeof(Vector) / sizeof(float);
  __shared__ Vector tile[tile_elements];
  for (unsigned i = threadIdx.x; i < tile_elements; i += threads) tile[i] = in[i];
  __syncthreads();
  unsigned at = pattern(threadIdx.x % warp);
  float sum = 0;
  for (unsigned round = 0; round < rounds<Vector>; ++round) {
#pragma unroll
    for (unsigned k = 0; k < unroll; ++k) {
      const Vector got = tile[at + k * banks];
#pragma unroll
      for (unsigned w = 0; w < words; ++w) sum += reinterpret_cast<const float*>(&got)[w];
    }
    at = (at + 1) % window;
  }
  sums[blockIdx.x * std::size_t{threads} + threadIdx.x] = sum;
}

// --- transposition through a tile ---

inline constexpr unsigned side = 32;         // of a tile, in words
inline constexpr unsigned rows_at_once = 8;  // a block of side x rows_at_once threads

// Where word (y, x) of a tile lies, how many words the tile takes, and how many banks the words of
// a column are apart.
struct Plain {
  static constexpr unsigned words = side * side, column_stride = side;
  __device__ static unsigned at(unsigned y, unsigned x) { return y * side + x; }
};
struct Padded {  // a word after each row: columns walk over the banks
  static constexpr unsigned words = side * (side + 1), column_stride = side + 1;
  __device__ static unsigned at(unsigned y, unsigned x) { return y * (side + 1) + x; }
};
struct Swizzled {  // the same without the extra words
  static constexpr unsigned words = side * side, column_stride = 1;
  __device__ static unsigned at(unsigned y, unsigned x) { return y * side + (x ^ y); }
};

// out[x][y] = in[y][x]; with `turned` false the same way through the tile, out[y][x] = in[y][x].
// `in` has `rows` rows of `columns` words. Warps read and write rows of global memory: only shared
// memory sees columns.
template <class Layout, bool turned = true>
__global__ void transpose_by_tile(const float* in, float* out, unsigned rows, unsigned columns) {
  __shared__ float tile[Layout::words];
  const unsigned left = blockIdx.x * side, top = blockIdx.y * side;
  float got[side / rows_at_once];  // all loads in flight before the first store
#pragma unroll
  for (unsigned k = 0; k < side / rows_at_once; ++k) {
    const unsigned y = top + threadIdx.y + k * rows_at_once, x = left + threadIdx.x;
    got[k] = y < rows && x < columns ? in[std::size_t{y} * columns + x] : 0.0f;
  }
#pragma unroll
  for (unsigned k = 0; k < side / rows_at_once; ++k) {
    tile[Layout::at(threadIdx.y + k * rows_at_once, threadIdx.x)] = got[k];
  }
  __syncthreads();
  const unsigned out_left = turned ? top : left, out_top = turned ? left : top;
  const unsigned out_rows = turned ? columns : rows, out_columns = turned ? rows : columns;
  for (unsigned y = threadIdx.y; y < side; y += rows_at_once) {
    if (out_top + y < out_rows && out_left + threadIdx.x < out_columns) {
      out[std::size_t{out_top + y} * out_columns + out_left + threadIdx.x] =
          tile[turned ? Layout::at(threadIdx.x, y) : Layout::at(y, threadIdx.x)];
    }
  }
}

// --- a sum by halving ---

inline constexpr unsigned sums_a_block = 4;  // at once, so that barriers do not decide the time

// At level 1, 2, 4, ... the first threads / (2 * level) threads add the word at distance() to
// the one at stride() times their index.
struct Interleaved {  // neighbours first: the lanes' stride doubles from level to level
  __host__ __device__ static constexpr unsigned stride(unsigned level) { return 2 * level; }
  __host__ __device__ static constexpr unsigned distance(unsigned level) { return level; }
};
struct Sequential {  // halves first: lanes stay side by side
  __host__ __device__ static constexpr unsigned stride(unsigned) { return 1; }
  __host__ __device__ static constexpr unsigned distance(unsigned level) {
    return threads / 2 / level;
  }
};

// sums[s] is the sum of words s * threads to (s + 1) * threads of `in`, which has n.
template <class Order>
__global__ void reduce(const float* in, float* sums, std::size_t n) {
  // volatile: every access is made, and made as it stands here. The accesses are the lesson, and
  // the compiler would join some.
  __shared__ volatile float partial[sums_a_block][threads];
  const std::size_t first = blockIdx.x * std::size_t{sums_a_block};
  float got[sums_a_block];
#pragma unroll
  for (unsigned s = 0; s < sums_a_block; ++s) {
    const std::size_t i = (first + s) * threads + threadIdx.x;
    got[s] = i < n ? in[i] : 0.0f;
  }
#pragma unroll
  for (unsigned s = 0; s < sums_a_block; ++s) partial[s][threadIdx.x] = got[s];
  for (unsigned level = 1; level < threads; level *= 2) {
    __syncthreads();
    if (threadIdx.x >= threads / 2 / level) continue;
    const unsigned to = threadIdx.x * Order::stride(level);
#pragma unroll
    for (unsigned s = 0; s < sums_a_block; ++s) {
      partial[s][to] = partial[s][to] + partial[s][to + Order::distance(level)];
    }
  }
  if (threadIdx.x > 0) return;
#pragma unroll
  for (unsigned s = 0; s < sums_a_block; ++s) {
    if ((first + s) * threads < n) sums[first + s] = partial[s][0];
  }
}

// --- what they must compute ---

template <class Source>
struct ExpectedRead {
  Source in;       // of words
  unsigned words;  // of a vector
  Pattern pattern;
  __host__ __device__ float operator()(std::size_t i) const {
    const unsigned begin = pattern(static_cast<unsigned>(i % warp));
    const unsigned trips = bytes_a_thread / sizeof(float) / words / unroll;
    float sum = 0;
    for (unsigned round = 0; round < trips; ++round) {
      for (unsigned k = 0; k < unroll; ++k) {
        const std::size_t element = (begin + round) % window + k * banks;
        for (unsigned w = 0; w < words; ++w) sum += in(element * words + w);
      }
    }
    return sum;
  }
};

// What transpose_by_tile<Layout, turned> writes.
template <bool turned, class Source>
auto expected_through_tile(Source in, unsigned rows, unsigned columns) {
  if constexpr (turned) {
    return ExpectedTransposed<Source>{in, rows, columns};
  } else {
    return in;
  }
}

template <class Source>
struct ExpectedSum {
  Source in;
  std::size_t n;
  __host__ __device__ float operator()(std::size_t s) const {
    float sum = 0;
    for (std::size_t i = s * threads; i < (s + 1) * threads && i < n; ++i) sum += in(i);
    return sum;
  }
};

// --- what theory says they cost ---

// Cycles of a warp's read of `words` words per lane. The load/store units are busy with it for
// `units` cycles: one, or two where an SM has only 16 of them (GA10x, AD10x). Wide reads of one
// address return packed, in half of the passes.
constexpr double read_cycles(unsigned words, Pattern pattern, double units) {
  const double passes = wavefronts(4 * words, pattern.stride, warp / pattern.sharing);
  const double returned = words > 1 && pattern.stride == 0 ? passes / 2 : passes;
  return returned > units ? returned : units;
}

// Whether it is the narrowest read that keeps all banks busy.
constexpr bool fills_banks(unsigned words, Pattern pattern, double units) {
  return pattern.is_one_to_one() && words == (units > 1 ? units : 1) &&
         words == wavefronts(4 * words, pattern.stride);
}

// Shared memory's share in one sum: requests and wavefronts of its loads, wavefronts of all.
struct Cost {
  unsigned loads = 1, load_wavefronts = 1;   // the result's
  unsigned wavefronts = 1 + threads / warp;  // and the words' on their way in

  constexpr double words_a_wavefront() const { return 1.0 * threads / wavefronts; }
  constexpr double wavefronts_a_load() const { return 1.0 * load_wavefronts / loads; }
};
template <class Order>
constexpr Cost cost_of_a_sum() {
  Cost cost;
  for (unsigned level = 1; level < threads; level *= 2) {
    for (unsigned lanes = threads / 2 / level; lanes > 0;) {
      const unsigned active = lanes < warp ? lanes : warp;
      const unsigned queue = bank_conflicts::wavefronts(4, Order::stride(level), active);
      cost.loads += 2;
      cost.load_wavefronts += 2 * queue;
      cost.wavefronts += 3 * queue;  // two loads, one store
      lanes -= active;
    }
  }
  return cost;
}

}  // namespace bank_conflicts
