// Which queries a block of the tiled kernels has.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace attention {

inline constexpr unsigned queries = 128;  // of a group, where nothing else is said

__host__ __device__ constexpr unsigned groups_of(std::size_t seq, unsigned of = queries) {
  return static_cast<unsigned>((seq + of - 1) / of);
}
constexpr unsigned blocks_of(std::size_t seq, bool causal, unsigned of = queries) {
  return causal ? (groups_of(seq, of) + 1) / 2 : groups_of(seq, of);
}

// A query that may look back only has the less to do the earlier it stands: then a block takes one
// group of queries from either end, and all have the same to do. The one in the middle is alone.
struct Work {
  unsigned seq, groups, group;  // how many groups the block has; queries of one
  bool causal;

  __device__ Work(unsigned of_seq, bool is_causal, unsigned of = queries)
      : seq(of_seq), groups(1), group(of), causal(is_causal) {
    if (causal && blockIdx.x != last() - blockIdx.x) groups = 2;
  }
  // Where the block's i-th group begins.
  __device__ unsigned first_query(unsigned i) const {
    return (i == 0 ? blockIdx.x : last() - blockIdx.x) * group;
  }
  // By any of 128 queries that begin there.
  __device__ unsigned keys_seen(unsigned first) const {
    return causal && first + queries < seq ? first + queries : seq;
  }

 private:
  __device__ unsigned last() const { return groups_of(seq, group) - 1; }
};

}  // namespace attention
