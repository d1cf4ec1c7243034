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

// What kernels that write leave in word i.
__host__ __device__ inline word word_at(std::size_t i) { return static_cast<word>(i % 1021); }

[[maybe_unused]] static __global__ void strided_write(word* out, unsigned stride) {
  const std::size_t first = blockIdx.x * words_a_block + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) {
    const std::size_t at = (first + k * threads) * stride;
    out[at] = word_at(at);
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

[[maybe_unused]] static __global__ void misaligned_write(word* out, unsigned offset) {
  const std::size_t first = blockIdx.x * words_a_block + threadIdx.x + offset;
#pragma unroll
  for (unsigned k = 0; k < words_a_thread; ++k) {
    out[first + k * threads] = word_at(first + k * threads);
  }
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

// --- whole records ---

// A thread adds up the words of whole records, each times the number of its field: a word that
// lands in another field gives another sum. 16 words per thread, however many records that is.
inline constexpr unsigned words_of_records = 16;
template <unsigned fields>
inline constexpr unsigned records_a_thread = words_of_records / fields;
// The thread's record number r is `threads` after the one before.
template <unsigned fields>
__device__ std::size_t record_of(unsigned r) {
  return (blockIdx.x * std::size_t{records_a_thread<fields>} + r) * threads + threadIdx.x;
}

// Words that a thread reads one by one, wherever `Layout` has them.
template <class Layout, unsigned fields>
__global__ void read_records(const word* in, word* sums, std::size_t records) {
  word got[words_of_records];
#pragma unroll
  for (unsigned i = 0; i < words_of_records; ++i) {
    got[i] = in[Layout::at(record_of<fields>(i / fields), i % fields, fields, records)];
  }
  word sum = 0;
#pragma unroll
  for (unsigned i = 0; i < words_of_records; ++i) sum += static_cast<word>(i % fields + 1) * got[i];
  write_block_sum<threads>(sum, sums);
}

// An array of structs, four words per load.
template <unsigned fields>
__global__ void read_records_by_vectors(const word* in, word* sums, std::size_t) {
  constexpr unsigned in_a_record = fields / 4;
  float4 got[words_of_records / 4];
#pragma unroll
  for (unsigned v = 0; v < words_of_records / 4; ++v) {
    const std::size_t first = record_of<fields>(v / in_a_record) * in_a_record;
    got[v] = reinterpret_cast<const float4*>(in)[first + v % in_a_record];
  }
  word sum = 0;
#pragma unroll
  for (unsigned v = 0; v < words_of_records / 4; ++v) {
    const auto f = static_cast<word>(4 * (v % in_a_record) + 1);
    sum += f * got[v].x + (f + 1) * got[v].y + (f + 2) * got[v].z + (f + 3) * got[v].w;
  }
  write_block_sum<threads>(sum, sums);
}

// An array of structs, which the block loads word by word, side by side, and hands out in shared
// memory. A word after each record there, so that lanes find their fields in different banks.
template <unsigned fields>
__global__ void read_records_through_shared(const word* in, word* sums, std::size_t) {
  constexpr unsigned pitch = fields + 1;
  __shared__ word tile[threads * records_a_thread<fields> * pitch];
  const std::size_t first = blockIdx.x * std::size_t{threads} * words_of_records;
  word got[words_of_records];
#pragma unroll
  for (unsigned k = 0; k < words_of_records; ++k) got[k] = in[first + k * threads + threadIdx.x];
#pragma unroll
  for (unsigned k = 0; k < words_of_records; ++k) {
    const unsigned i = k * threads + threadIdx.x;
    tile[i / fields * pitch + i % fields] = got[k];
  }
  __syncthreads();
  word sum = 0;
#pragma unroll
  for (unsigned i = 0; i < words_of_records; ++i) {
    const unsigned record = i / fields * threads + threadIdx.x;
    sum += static_cast<word>(i % fields + 1) * tile[record * pitch + i % fields];
  }
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

__device__ inline void set_words(float& v, std::size_t i) { v = word_at(i); }
__device__ inline void set_words(float2& v, std::size_t i) {
  v = make_float2(word_at(i), word_at(i + 1));
}
__device__ inline void set_words(float4& v, std::size_t i) {
  v = make_float4(word_at(i), word_at(i + 1), word_at(i + 2), word_at(i + 3));
}

template <class Vector>
__global__ void vector_write(word* out) {
  constexpr unsigned words = sizeof(Vector) / sizeof(word), stores = words_a_thread / words;
  const std::size_t first = blockIdx.x * std::size_t{threads} * stores + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < stores; ++k) {
    const std::size_t at = first + k * threads;
    Vector v;
    set_words(v, at * words);
    reinterpret_cast<Vector*>(out)[at] = v;
  }
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

// Block sums of whole records: `Layout` gives the index of a field.
template <class Source, class Layout>
struct ExpectedRecords {
  Source in;
  unsigned fields;
  std::size_t records;
  __host__ __device__ word operator()(std::size_t block) const {
    word sum = 0;
    const std::size_t in_a_block = std::size_t{threads} * words_of_records / fields;
    for (std::size_t r = block * in_a_block; r < (block + 1) * in_a_block; ++r) {
      for (unsigned f = 0; f < fields; ++f) {
        sum += static_cast<word>(f + 1) * in(Layout::at(r, f, fields, records));
      }
    }
    return sum;
  }
};

// Words before `begin` keep `untouched`.
struct ExpectedWords {
  std::size_t begin;
  word untouched;
  __host__ __device__ word operator()(std::size_t i) const {
    return i >= begin ? word_at(i) : untouched;
  }
};

// Elements that strided_write does not touch keep `untouched`.
struct ExpectedStrided {
  std::size_t stride;
  word untouched;
  __host__ __device__ word operator()(std::size_t i) const {
    return i % stride == 0 ? word_at(i) : untouched;
  }
};

// --- what theory says they cost ---

// Sectors of a request whose lanes are `stride` words apart, each for `words` of them, the first
// `offset` words behind the beginning of a sector.
constexpr unsigned sectors(unsigned stride, unsigned offset = 0, unsigned words = 1) {
  constexpr unsigned lanes = 32, sector = 32 / sizeof(word);
  unsigned count = 0, next = 0;  // the first sector that no lane has asked for
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const unsigned first = (lane * stride + offset) / sector;
    const unsigned last = (lane * stride + offset + words - 1) / sector;
    const unsigned begin = first > next ? first : next;
    if (last >= begin) count += last - begin + 1;
    if (last >= next) next = last + 1;
  }
  return count;
}

// Bytes that DRAM gives up for each useful byte, when every `fetch`-byte piece is fetched once:
// the stride itself until pieces are passed over.
constexpr double fetched_per_useful_byte(double stride, double fetch) {
  const double step = stride * sizeof(word);
  return (step < fetch ? step : fetch) / sizeof(word);
}

}  // namespace coalescing
