// How many blocks of a kernel live on one SM at once, and how to have fewer of them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "harness/cuda/launch.hpp"

namespace gpubench {

// An attribute of the current device.
inline int device_attribute(cudaDeviceAttr name) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, name, device));
  return value;
}

// SMs of the current device.
inline unsigned sm_count() {
  return static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount));
}

struct Residency {
  unsigned blocks = 0;   // an SM, by the runtime's own calculator
  double occupancy = 0;  // their warps, over the most that fit
};

template <class... P>
Residency residency(void (*kernel)(P...), unsigned block_threads, std::size_t shared_bytes) {
  constexpr int warp = 32;
  allow_shared_bytes(kernel, shared_bytes);
  const auto threads = static_cast<int>(block_threads);
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes));
  const int most = device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / warp;
  const int warps = (threads + warp - 1) / warp;
  return {static_cast<unsigned>(blocks), static_cast<double>(blocks) * warps / most};
}

// Blocks of the largest cluster in which the kernel can be launched; none before compute capability
// 9.0.
template <class... P>
unsigned largest_cluster(void (*kernel)(P...), unsigned block_threads, std::size_t shared_bytes) {
  allow_shared_bytes(kernel, shared_bytes);
  allow_large_clusters(kernel);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(most_cluster_blocks);
  config.blockDim = dim3(block_threads);
  config.dynamicSmemBytes = shared_bytes;
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxPotentialClusterSize(&blocks, kernel, &config));
  return static_cast<unsigned>(blocks);
}

// Clusters of so many blocks that run at the same time: fewer than there is room for blocks, where
// the SMs of a GPC are no multiple of what a cluster takes.
template <class... P>
unsigned resident_clusters(void (*kernel)(P...), unsigned cluster, unsigned block_threads,
                           std::size_t shared_bytes) {
  allow_shared_bytes(kernel, shared_bytes);
  allow_large_clusters(kernel);
  cudaLaunchAttribute attribute = in_clusters_of(cluster);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(cluster);
  config.blockDim = dim3(block_threads);
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config));
  return static_cast<unsigned>(clusters);
}

// Dynamic shared memory a block, so much that an SM has room for no more than `blocks` blocks.
inline std::size_t shared_bytes_for(unsigned blocks) {
  constexpr int unit = 256;  // what architectures allocate in, or a multiple of it
  const int share =
      device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / static_cast<int>(blocks) -
      device_attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return static_cast<std::size_t>(std::max(std::min(share, most), 0) / unit * unit);
}

}  // namespace gpubench
