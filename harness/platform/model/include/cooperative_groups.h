// Cooperative groups: blocks, tiles of a warp, and the grid. The same calls into the emulator as
// __syncthreads and the warp collectives make.
#pragma once

#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {
// A fault unless the launch is cooperative.
void grid_barrier() noexcept;
bool is_cooperative() noexcept;
}  // namespace gpubench::model

namespace cooperative_groups {

class thread_block {
 public:
  static __forceinline__ void sync() { __syncthreads(); }
  static __forceinline__ dim3 dim_threads() { return blockDim; }
  static __forceinline__ dim3 group_dim() { return blockDim; }
  static __forceinline__ uint3 thread_index() { return threadIdx; }
  static __forceinline__ uint3 group_index() { return blockIdx; }
  static __forceinline__ unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static __forceinline__ unsigned size() { return num_threads(); }
  static __forceinline__ unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
};
__forceinline__ thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  static __forceinline__ dim3 dim_blocks() { return gridDim; }
  static __forceinline__ dim3 group_dim() { return gridDim; }
  static __forceinline__ uint3 block_index() { return blockIdx; }
  static __forceinline__ unsigned long long num_blocks() {
    return 1ull * gridDim.x * gridDim.y * gridDim.z;
  }
  static __forceinline__ unsigned long long block_rank() {
    return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static __forceinline__ unsigned long long num_threads() {
    return num_blocks() * thread_block::num_threads();
  }
  static __forceinline__ unsigned long long size() { return num_threads(); }
  static __forceinline__ unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static __forceinline__ bool is_valid() { return gpubench::model::is_cooperative(); }
  static __forceinline__ void sync() { gpubench::model::grid_barrier(); }
};
__forceinline__ grid_group this_grid() { return {}; }

// `Size` neighbouring threads of a warp.
template <unsigned Size, class Parent = thread_block>
class thread_block_tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                "a tile is a power of two of a warp's lanes");

 public:
  static __forceinline__ constexpr unsigned num_threads() { return Size; }
  static __forceinline__ constexpr unsigned size() { return Size; }
  static __forceinline__ unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  static __forceinline__ unsigned meta_group_size() {
    return (Parent::num_threads() + Size - 1) / Size;
  }
  static __forceinline__ unsigned meta_group_rank() { return Parent::thread_rank() / Size; }
  static __forceinline__ void sync() { __syncwarp(lanes()); }

  template <class T>
  static __forceinline__ T shfl(T value, int source) {
    return __shfl_sync(lanes(), value, source, Size);
  }
  template <class T>
  static __forceinline__ T shfl_up(T value, unsigned distance) {
    return __shfl_up_sync(lanes(), value, distance, Size);
  }
  template <class T>
  static __forceinline__ T shfl_down(T value, unsigned distance) {
    return __shfl_down_sync(lanes(), value, distance, Size);
  }
  template <class T>
  static __forceinline__ T shfl_xor(T value, unsigned bits) {
    return __shfl_xor_sync(lanes(), value, static_cast<int>(bits), Size);
  }
  static __forceinline__ bool any(int predicate) { return ballot(predicate) != 0; }
  static __forceinline__ bool all(int predicate) { return ballot(!predicate) == 0; }
  // Bit i: of the tile's thread i.
  static __forceinline__ unsigned ballot(int predicate) {
    return __ballot_sync(lanes(), predicate != 0) >> first_lane();
  }

 private:
  static __forceinline__ unsigned first_lane() {
    return thread_block::thread_rank() % warpSize / Size * Size;
  }
  static __forceinline__ unsigned lanes() {
    return (0xffffffffu >> (warpSize - Size)) << first_lane();
  }
};

template <unsigned Size, class Parent>
__forceinline__ thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}

template <class Group>
__forceinline__ void sync(const Group&) {
  Group::sync();
}

}  // namespace cooperative_groups
