// One tile for all blocks of a cluster: `bring` has every block read it, or each block a piece of
// it that the copy engine hands to all.
//
// Clusters go through tiles of `in`, two in flight: one is read while the next arrives. Tiles are
// so large that their arrival sets the pace: each lane reads one vector of a tile, in another part
// of it each time.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cluster.hpp"
#include "dynamic_shared.hpp"
#include "kernels/clusters.cuh"
#include "multicast.hpp"

namespace clusters {

inline constexpr unsigned tile_threads = 256, tile_parts = 24;
inline constexpr unsigned tile_vectors = tile_threads * tile_parts;
inline constexpr unsigned tile_bytes = tile_vectors * sizeof(uint4);  // 96 KiB
inline constexpr unsigned tiles_at_once = 2, tile_rounds = 32;
inline constexpr double bytes_brought_a_block = static_cast<double>(tile_bytes) * tile_rounds;
inline constexpr std::size_t tile_shared_bytes = std::size_t{tiles_at_once} * tile_bytes +
                                                 tiles_at_once * sizeof(Mbarrier) +
                                                 sizeof(unsigned) * tile_threads / warp;

// Which of `tiles` a cluster has in a round: neighbours are far apart.
__host__ __device__ constexpr unsigned tile_of(unsigned cluster, unsigned round, unsigned tiles) {
  return (cluster * 37 + round) % tiles;
}
// Which part of it a block reads then.
__host__ __device__ constexpr unsigned part_of(unsigned rank, unsigned round) {
  return (rank + round) % tile_parts;
}

template <bool multicast>
__global__ void __launch_bounds__(tile_threads)
    bring(const uint4* in, unsigned tiles, unsigned* sums) {
  auto* const tile = static_cast<uint4*>(dynamic_shared());
  auto* const brought = reinterpret_cast<Mbarrier*>(tile + tiles_at_once * tile_vectors);
  const unsigned rank = cluster_rank(), blocks = cluster_blocks();
  const auto fetch = [&](unsigned round) {
    if (threadIdx.x != 0 || round >= tile_rounds) return;
    uint4* const to = tile + round % tiles_at_once * tile_vectors;
    Mbarrier* const barrier = &brought[round % tiles_at_once];
    const uint4* const from =
        in + std::size_t{tile_of(blockIdx.x / blocks, round, tiles)} * tile_vectors;
    mbarrier_expect(barrier, tile_bytes);
    if constexpr (multicast) {
      const unsigned first = rank * (tile_vectors / blocks);
      bulk_copy_multicast(to + first, from + first, tile_bytes / blocks, barrier,
                          static_cast<unsigned short>((1u << blocks) - 1));
    } else {
      bulk_copy(to, from, tile_bytes, barrier);
    }
  };
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < tiles_at_once; ++i) mbarrier_init(&brought[i]);
    if constexpr (multicast) cluster_mbarrier_fence();
  }
  cluster_sync();
  for (unsigned round = 0; round < tiles_at_once; ++round) fetch(round);
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned round = 0; round < tile_rounds; ++round) {
    Mbarrier* const barrier = &brought[round % tiles_at_once];
    const unsigned parity = round / tiles_at_once % 2;
    if constexpr (multicast) {
      cluster_mbarrier_wait(barrier, parity);
    } else {
      mbarrier_wait(barrier, parity);
    }
    const uint4 got = tile[round % tiles_at_once * tile_vectors +
                           part_of(rank, round) * tile_threads + threadIdx.x];
    sum += (got.x + got.y + got.z + got.w) * (round + 1);
    cluster_sync();  // all blocks are done with this tile
    fetch(round + tiles_at_once);
  }
  sum = sum_of_block<tile_threads>(sum, reinterpret_cast<unsigned*>(brought + tiles_at_once));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// What each block's sum must come to, of `tiles` tiles.
template <class Words>
struct ExpectedTiles {
  Words in;
  unsigned tiles, cluster;
  __host__ __device__ unsigned operator()(std::size_t block) const {
    constexpr unsigned words = sizeof(uint4) / sizeof(unsigned);
    const auto rank = static_cast<unsigned>(block % cluster);
    unsigned sum = 0;
    for (unsigned round = 0; round < tile_rounds; ++round) {
      const unsigned tile = tile_of(static_cast<unsigned>(block / cluster), round, tiles);
      const std::size_t first =
          words * (std::size_t{tile} * tile_vectors + part_of(rank, round) * tile_threads);
      for (unsigned w = 0; w < words * tile_threads; ++w) sum += in(first + w) * (round + 1);
    }
    return sum;
  }
};

}  // namespace clusters
