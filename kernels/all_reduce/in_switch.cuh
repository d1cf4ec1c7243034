// The sum over all GPUs, added up by the switch between them (NVLink SHARP, NVLS).
//
// `in` and `out` are multicast addresses: a load that adds brings the sum of what all GPUs have
// there, and a store reaches all of them. A rank does both for its share of the elements. So each
// vector crosses a GPU's link once on its way to the switch and once on its way back, however many
// ranks there are; a kernel that reads its peers' memory moves a copy for each rank.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "kernels/all_reduce.cuh"
#include "multimem.hpp"

namespace all_reduce {

// What one operation of the switch takes.
template <class T>
inline constexpr std::size_t numbers_at_once = sizeof(uint4) / sizeof(T);

template <class T>
__device__ uint4 sum_everywhere(const uint4* at) {
  if constexpr (std::is_same_v<T, float>) {
    return multimem_load_add_fp32(at);
  } else if constexpr (std::is_same_v<T, __half>) {
    return multimem_load_add_fp16(at);
  } else {
    return multimem_load_add_bf16(at);
  }
}

// n numbers, a multiple of numbers_at_once, here and below.
template <class T>
__global__ void add_in_switch(const T* in, T* out, std::size_t n, unsigned rank, unsigned ranks) {
  const Share share = share_of(n / numbers_at_once<T>, rank, ranks);
  const std::size_t i = share.begin + blockIdx.x * std::size_t{threads} + threadIdx.x;
  if (i >= share.end) return;
  multimem_store(reinterpret_cast<uint4*>(out) + i,
                 sum_everywhere<T>(reinterpret_cast<const uint4*>(in) + i));
}

template <class T>
__device__ void add_everywhere(uint4* at, uint4 more) {
  if constexpr (std::is_same_v<T, float>) {
    multimem_add_fp32(at, more);
  } else if constexpr (std::is_same_v<T, __half>) {
    multimem_add_fp16(at, more);
  } else {
    multimem_add_bf16(at, more);
  }
}

// The other way round: each rank adds its own vector to the sums of all, which begin at 0. `in` is
// its own memory; nothing is divided up, and every GPU's link brings what all ranks have.
template <class T>
__global__ void add_to_all(const T* in, T* sums, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x;
  if (i >= n / numbers_at_once<T>) return;
  add_everywhere<T>(reinterpret_cast<uint4*>(sums) + i, reinterpret_cast<const uint4*>(in)[i]);
}

// What a GPU's link carries in each direction for each byte of the vector: its part of all sums and
// its own finished share.
constexpr double switch_factor(double ranks) { return (ranks + 1) / ranks; }
// The same where everybody adds to all.
constexpr double add_to_all_factor(double ranks) { return ranks; }

}  // namespace all_reduce
