// all_reduce: the sum of what all GPUs have, on every GPU.
//
// The kernels work on peer-to-peer memory. In the textbook's two steps, one launch each, a rank
// adds up a share of the elements of all ranks, then fetches the others' finished shares. In
// between all ranks meet, by waits of their streams. In one shot every rank reads all that the
// others have and adds it up: there is one step to wait for, and n / 2 times as many bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace all_reduce {

inline constexpr unsigned threads = 256;
inline constexpr unsigned most_peers =
    8;  // as many as fit in a kernel's argument; NVLink may connect more

// One buffer a rank, each on its own device, reachable from all.
template <class T>
struct Peers {
  T* of[most_peers];
  unsigned ranks;
};

// Elements [begin, end) of n that rank `rank` of `ranks` is in charge of.
struct Share {
  std::size_t begin, end;
};
__host__ __device__ inline Share share_of(std::size_t n, unsigned rank, unsigned ranks) {
  return {n * rank / ranks, n * (rank + 1) / ranks};
}

// The elements [begin, end) of the sum over all ranks, by as many threads. It begins with this
// rank's own, so that not all of them ask the same one first.
template <class T>
__device__ void add_up(const Peers<const T>& from, T* to, Share elements, unsigned rank) {
  const std::size_t i = elements.begin + blockIdx.x * std::size_t{threads} + threadIdx.x;
  if (i >= elements.end) return;
  float sum = 0;
  for (unsigned k = 0; k < from.ranks; ++k) {
    sum += static_cast<float>(from.of[(rank + k) % from.ranks][i]);
  }
  to[i] = static_cast<T>(sum);
}

// In one shot: to[i] = the sum of from.of[r][i] over the ranks.
template <class T>
__global__ void reduce_all(Peers<const T> from, T* to, std::size_t n, unsigned rank) {
  add_up(from, to, {0, n}, rank);
}

// Step one: to[i] = the sum of from.of[r][i] over the ranks, for the elements of this rank's share.
template <class T>
__global__ void reduce_share(Peers<const T> from, T* to, std::size_t n, unsigned rank) {
  add_up(from, to, share_of(n, rank, from.ranks), rank);
}

// Step two: the other ranks' shares, from where they were added up. blockIdx.y counts the others,
// beginning after this rank, so that not all of them ask the same one first.
template <class T>
__global__ void fetch_shares(Peers<const T> from, T* to, std::size_t n, unsigned rank) {
  const unsigned owner = (rank + 1 + blockIdx.y) % from.ranks;
  const Share share = share_of(n, owner, from.ranks);
  const std::size_t i = share.begin + blockIdx.x * std::size_t{threads} + threadIdx.x;
  if (i < share.end) to[i] = from.of[owner][i];
}

// --- what they must compute ---

// What rank `rank` contributes at index i: 0, 1, 2 or 3, so that sums of 64 ranks are exact even in
// bf16. A hash; neighbours and ranks differ.
template <class T>
struct Contribution {
  unsigned rank;
  __host__ __device__ T operator()(std::size_t i) const {
    std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u + rank * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 29)) * 0x94d049bb133111ebu;
    return static_cast<T>(static_cast<float>(z >> 62));
  }
};

template <class T>
struct ExpectedSum {
  unsigned ranks;
  std::size_t first;  // what element 0 of the result is in the whole vector
  __host__ __device__ T operator()(std::size_t i) const {
    float sum = 0;
    for (unsigned r = 0; r < ranks; ++r) sum += static_cast<float>(Contribution<T>{r}(first + i));
    return static_cast<T>(sum);
  }
};

// Rank r's elements are at [r * count, (r + 1) * count).
template <class T>
struct ExpectedGather {
  std::size_t count;
  __host__ __device__ T operator()(std::size_t i) const {
    return Contribution<T>{static_cast<unsigned>(i / count)}(i % count);
  }
};

// Rank `rank` has its own part of every rank's vector, `count` elements from each.
template <class T>
struct ExpectedExchange {
  std::size_t rank, count;
  __host__ __device__ T operator()(std::size_t i) const {
    return Contribution<T>{static_cast<unsigned>(i / count)}(rank * count + i % count);
  }
};

// --- what theory says they cost ---

// What crosses the narrowest link for each byte of the vector, one direction: bus bandwidth is
// algorithm bandwidth times this (NVIDIA/nccl-tests, doc/PERFORMANCE.md).
constexpr double all_reduce_factor(double ranks) { return 2 * (ranks - 1) / ranks; }
constexpr double scatter_or_gather_factor(double ranks) { return (ranks - 1) / ranks; }
constexpr double broadcast_factor(double) { return 1; }

// What a rank's link carries in one direction for each byte of the vector when everybody reads
// everything.
constexpr double one_shot_factor(double ranks) { return ranks - 1; }

// Gradients come in `buckets` equal pieces while `compute` [s] goes on, each sent when it is there,
// one after the other, `send` [s] a piece: either the wire keeps up, and only the last piece is
// left over, or it does not, and is busy from the first piece on.
constexpr double overlapped_seconds(double compute, double send, double buckets) {
  const double keeps_up = compute + send;
  const double falls_behind = compute / buckets + buckets * send;
  return keeps_up > falls_behind ? keeps_up : falls_behind;
}

// `compute` [s, alone] beside something that takes `send` [s] and slows it by a factor as long as
// it lasts.
constexpr double beside_seconds(double compute, double send, double slowdown) {
  const double done = send / slowdown;  // of the computation, when the other has ended
  const double rest = compute > done ? compute - done : 0;
  return send + rest;
}

}  // namespace all_reduce
