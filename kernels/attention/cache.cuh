// Where keys and values of decoded sequences lie, how their tokens are split over blocks, and what
// theory says reading them costs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/attention/expected.cuh"
#include "kernels/common/philox.cuh"

namespace attention::decoding {

inline constexpr unsigned heads = 32, head_dim = 128;  // of queries
inline constexpr unsigned least_page = 16;             // tokens; a multiple of it: see tile_keys

// A stretch of memory per sequence: [sequences][kv_heads][context][head_dim].
struct Contiguous {
  unsigned context, kv_heads;

  // The row of head_dim elements that a token's key (or value) is.
  __host__ __device__ std::size_t row_of(unsigned sequence, unsigned kv_head,
                                         unsigned token) const {
    return (std::size_t{sequence} * kv_heads + kv_head) * context + token;
  }
};

// Pages of `page` tokens, [pages][kv_heads][page][head_dim]. table[sequence * pages + i]: where the
// i-th page of a sequence is.
template <class Table>
struct PagedBy {
  unsigned context, kv_heads, page;
  Table table;

  __host__ __device__ std::size_t row_of(unsigned sequence, unsigned kv_head,
                                         unsigned token) const {
    const unsigned pages = (context + page - 1) / page;
    const std::size_t at = table[std::size_t{sequence} * pages + token / page];
    return (at * kv_heads + kv_head) * page + token % page;
  }
};
struct Paged : PagedBy<const unsigned*> {};

// A table in which pages of all sequences are shuffled: four rounds of a Feistel network are a
// permutation of 2^(2 half_bits) numbers, and one that leads beyond `pages` leads on until it leads
// back.
struct ShuffledPages {
  unsigned pages;

  __host__ __device__ unsigned operator()(std::size_t i) const {
    auto at = static_cast<unsigned>(i);
    do at = permuted(at);
    while (at >= pages);
    return at;
  }
  // As a table that is not in memory.
  __host__ __device__ unsigned operator[](std::size_t i) const { return (*this)(i); }

 private:
  __host__ __device__ unsigned half_bits() const {
    unsigned bits = 1;
    while (bits < 16 && std::uint64_t{1} << (2 * bits) < pages) ++bits;
    return bits;
  }
  __host__ __device__ unsigned permuted(unsigned i) const {
    const unsigned bits = half_bits(), low = (1u << bits) - 1;
    unsigned left = i >> bits, right = i & low;
    for (unsigned round = 0; round < 4; ++round) {
      const unsigned mixed = left ^ (philox::at(right, round).of[0] & low);
      left = right;
      right = mixed;
    }
    return left << bits | right;
  }
};

// --- splits ---

// Tiles are dealt out to splits as evenly as may be: the first one of a split.
__host__ __device__ constexpr unsigned first_tile(unsigned tiles, unsigned split, unsigned splits) {
  return static_cast<unsigned>(std::uint64_t{tiles} * split / splits);
}

// Keys that a split has at least: two tiles for each warp of its block, and so many that its
// results are at most an eighth of what it has read.
constexpr unsigned least_keys(unsigned group) { return std::max(128u, 8 * group); }

// Into how many splits a sequence's keys go: the fewest whose waves of blocks are nine tenths full,
// and if none are, those whose waves are fullest. More than 128 take longer to combine than they
// save. `blocks`: without splits; `at_once`: that the GPU has room for.
inline unsigned splits_of(unsigned context, unsigned group, unsigned blocks, unsigned at_once) {
  constexpr double enough = 0.9;
  const unsigned most = std::clamp(context / least_keys(group), 1u, 128u);
  double best = 0;
  unsigned chosen = 1;
  for (unsigned splits = 1; splits <= most; ++splits) {
    const double waves = double{1} * blocks * splits / at_once, filled = waves / std::ceil(waves);
    if (filled > best) {
      best = filled;
      chosen = splits;
    }
    if (filled >= enough) break;
  }
  return chosen;
}

// --- what theory says it costs ---

struct Amount {
  double batch, context, kv_heads;

  // The keys and values that a new token needs.
  double bytes_per_token() const { return 2 * context * kv_heads * head_dim * element_bytes; }
  // And with its queries and results.
  double bytes() const {
    return batch * (bytes_per_token() + 2 * heads * head_dim * element_bytes);
  }
  // Scores and results of all query heads.
  double flops() const { return 4 * batch * context * heads * head_dim; }
};

}  // namespace attention::decoding
