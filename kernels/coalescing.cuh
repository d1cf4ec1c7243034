// coalescing: what a warp pays for touching scattered words.
//
// Every kernel reads or writes 4-byte words (or records of them) in a pattern, one block of
// `threads` at a time, and writes one sum per block where it reads, so that nothing can be
// optimised away.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/common/block_sum.cuh"

namespace coalescing {

using word = float;
inline constexpr unsigned threads = 256;
inline constexpr unsigned words_a_thread = 8;
inline constexpr std::size_t words_a_block = threads * words_a_thread;

// Sums of the suite's inputs are exact in any order.

// --- a stride between the lanes ---

// Word k of the block's run is `stride` words after word k - 1; each is read once.
[[maybe_unused]] static __global__ void strided_read(const word* in, word* sums, unsigned stride) {
  const std::size_t first = blockIdx.x * words_a_block + threadIdx.x;
  word got[words_a_thread];
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) got[k] = in[(first + k * threads) * stride];
  word sum = 0;
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) sum += got[k];
  write_block_sum<threads>(sum, sums);
}

[[maybe_unused]] static __global__ void strided_write(word* out, unsigned stride) {
  const std::size_t first = blockIdx.x * words_a_block + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) {
    const std::size_t at = (first + k * threads) * stride;
    out[at] = static_cast<word>(at % 1021);
  }
}

// --- a shift of the whole warp ---

[[maybe_unused]] static __global__ void misaligned_read(const word* in, word* sums,
                                                        unsigned offset) {
  const std::size_t first = blockIdx.x * words_a_block + threadIdx.x + offset;
  word got[words_a_thread];
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) got[k] = in[first + k * threads];
  word sum = 0;
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) sum += got[k];
  write_block_sum<threads>(sum, sums);
}

// --- records of `fields` words ---

// How records lie in memory: where word `field` of record `record` is, of `records`.
struct ArrayOfStructs {
  __host__ __device__ static std::size_t at(std::size_t record, unsigned field, unsigned fields,
                                            std::size_t) {
    return record * fields + field;
  }
};
struct StructOfArrays {
  __host__ __device__ static std::size_t at(std::size_t record, unsigned field, unsigned,
                                            std::size_t records) {
    return field * records + record;
  }
};
// Groups of a warp's 32 records, each a small structure of arrays.
struct ArrayOfStructsOfArrays {
  __host__ __device__ static std::size_t at(std::size_t record, unsigned field, unsigned fields,
                                            std::size_t) {
    return (record / 32 * fields + field) * 32 + record % 32;
  }
};

// A thread reads one field of its record, the pattern in which layouts differ.
template <class Layout>
__global__ void read_field(const word* in, word* sums, unsigned fields, unsigned field,
                           std::size_t records) {
  const std::size_t first = blockIdx.x * words_a_block + threadIdx.x;
  word got[words_a_thread];
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) {
    got[k] = in[Layout::at(first + k * threads, field, fields, records)];
  }
  word sum = 0;
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) sum += got[k];
  write_block_sum<threads>(sum, sums);
}

// --- words per load ---

__device__ inline word sum_of(float v) { return v; }
__device__ inline word sum_of(float2 v) { return v.x + v.y; }
__device__ inline word sum_of(float4 v) { return v.x + v.y + v.z + v.w; }

// `Vector` of 1, 2 or 4 words; the same words per block whatever the width.
template <class Vector>
__global__ void vector_read(const word* in, word* sums) {
  constexpr unsigned loads = words_a_thread * sizeof(word) / sizeof(Vector);
  const std::size_t first = blockIdx.x * std::size_t{threads} * loads + threadIdx.x;
  word sum = 0;
#pragma unroll
  for (unsigned k = 0; k < loads; ++k) {
    const Vector v = reinterpret_cast<const Vector*>(in)[first + k * threads];
    sum += sum_of(v);
  }
  write_block_sum<threads>(sum, sums);
}

// --- anywhere in a window ---

// The word that step k of thread i reads, of `window` (a power of two): a hash, so that no list of
// indices is read beside the data. Thomas Wang's 32-bit mix.
__host__ __device__ inline unsigned gather_index(unsigned i, unsigned window) {
  i = (i ^ 61u) ^ (i >> 16);
  i *= 9u;
  i ^= i >> 4;
  i *= 0x27d4eb2du;
  i ^= i >> 15;
  return i & (window - 1);
}

[[maybe_unused]] static __global__ void gather(const word* in, word* sums, unsigned window) {
  const unsigned first = blockIdx.x * static_cast<unsigned>(words_a_block) + threadIdx.x;
  word got[words_a_thread];
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) {
    got[k] = in[gather_index(first + k * threads, window)];
  }
  word sum = 0;
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) sum += got[k];
  write_block_sum<threads>(sum, sums);
}

// --- what they must compute ---

// Block sums of a reading kernel: `Where` gives the index of the block's word j.
template <class Source, class Where>
struct ExpectedSum {
  Source in;
  Where where;
  __host__ __device__ word operator()(std::size_t block) const {
    word sum = 0;
    for (std::size_t j = 0; j < words_a_block; ++j) sum += in(where(block * words_a_block + j));
    return sum;
  }
};

struct Strided {
  std::size_t stride;
  __host__ __device__ std::size_t operator()(std::size_t j) const { return j * stride; }
};
struct Shifted {
  std::size_t offset;
  __host__ __device__ std::size_t operator()(std::size_t j) const { return j + offset; }
};
template <class Layout>
struct Field {
  unsigned fields, field;
  std::size_t records;
  __host__ __device__ std::size_t operator()(std::size_t j) const {
    return Layout::at(j, field, fields, records);
  }
};
struct Gathered {
  unsigned window;
  __host__ __device__ std::size_t operator()(std::size_t j) const {
    return gather_index(static_cast<unsigned>(j), window);
  }
};

// Elements that strided_write does not touch keep `untouched`.
struct ExpectedStrided {
  std::size_t stride;
  word untouched;
  __host__ __device__ word operator()(std::size_t i) const {
    return i % stride == 0 ? static_cast<word>(i % 1021) : untouched;
  }
};

// --- what theory says they cost ---

// Bytes that DRAM gives up for each useful byte, when every `fetch`-byte piece is fetched once:
// the stride itself until pieces are passed over.
constexpr double fetched_per_useful_byte(double stride, double fetch) {
  const double step = stride * sizeof(word);
  return (step < fetch ? step : fetch) / sizeof(word);
}

}  // namespace coalescing
