// Reads of elements narrower than a bank.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/bank_conflicts/banks.cuh"

namespace bank_conflicts {

inline constexpr unsigned narrow_loads = 512;  // of a thread
inline constexpr unsigned row_bytes = banks * 4;
inline constexpr unsigned narrow_window = 4096;  // bytes: lane 31 at 132 bytes reads the last
inline constexpr unsigned narrow_bytes = narrow_window + (unroll - 1) * row_bytes;

// As `read`, with lanes `stride` elements of 1 or 2 bytes apart.
template <class Narrow>
__global__ void read_narrow(const Narrow* in, unsigned* sums, unsigned stride) {
  constexpr unsigned in_a_row = row_bytes / sizeof(Narrow),
                     elements = narrow_bytes / sizeof(Narrow);
  __shared__ Narrow tile[elements];
  for (unsigned i = threadIdx.x; i < elements; i += threads) tile[i] = in[i];
  __syncthreads();
  unsigned at = threadIdx.x % warp * stride;
  unsigned sum = 0;
  for (unsigned round = 0; round < narrow_loads / unroll; ++round) {
#pragma unroll
    for (unsigned k = 0; k < unroll; ++k) sum += tile[at + k * in_a_row];
    // By whole words, so that all lanes keep their places in them.
    at = (at + 4 / sizeof(Narrow)) % (narrow_window / sizeof(Narrow));
  }
  sums[blockIdx.x * std::size_t{threads} + threadIdx.x] = sum;
}

// --- what they must compute, and what theory says they cost ---

template <class Source>
struct ExpectedNarrow {
  Source in;  // of 4-byte words
  unsigned bytes, stride;
  __host__ __device__ unsigned operator()(std::size_t i) const {
    const unsigned begin = static_cast<unsigned>(i % warp) * stride * bytes;
    unsigned sum = 0;
    for (unsigned round = 0; round < narrow_loads / unroll; ++round) {
      for (unsigned k = 0; k < unroll; ++k) {
        const unsigned at = (begin + 4 * round) % narrow_window + k * row_bytes;
        sum += in(at / 4) >> at % 4 * 8 & ((1u << 8 * bytes) - 1);
      }
    }
    return sum;
  }
};

// Wavefronts of a request for narrow elements `distance` bytes apart: lanes that want bytes of one
// word share it. A distance above 4 bytes is a whole number of words.
constexpr unsigned narrow_wavefronts(unsigned distance) {
  return distance <= 4 ? 1 : wavefronts(4, distance / 4);
}

}  // namespace bank_conflicts
