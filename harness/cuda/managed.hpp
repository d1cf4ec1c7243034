#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/check.hpp"

namespace gpubench {

// `count` elements that host and device reach under one address, and that the driver moves to where
// they are used, or asked for in advance. Never more than the device has free: a GPU may hang.
template <class T>
class ManagedBuffer {
  static_assert(std::is_trivially_destructible_v<T>, "managed memory is moved page by page");

 public:
  explicit ManagedBuffer(std::size_t count)
      : data_(static_cast<T*>(detail::managed_memory(count, sizeof(T)))), count_(count) {}
  ~ManagedBuffer() {
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
  }
  ManagedBuffer(const ManagedBuffer&) = delete;
  ManagedBuffer& operator=(const ManagedBuffer&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) const { return data_[i]; }

  // The first `bytes` bytes, and what shares their last page.
  void prefetch_to_device(cudaStream_t stream, std::size_t bytes) const {
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    prefetch(stream, bytes, {cudaMemLocationTypeDevice, device});
  }
  void prefetch_to_host(cudaStream_t stream, std::size_t bytes) const {
    prefetch(stream, bytes, {cudaMemLocationTypeHost, 0});
  }

 private:
  void prefetch(cudaStream_t stream, std::size_t bytes, cudaMemLocation where) const {
#if CUDART_VERSION >= 13000
    CUDA_CHECK(cudaMemPrefetchAsync(data_, bytes, where, 0, stream));
#else
    CUDA_CHECK(cudaMemPrefetchAsync_v2(data_, bytes, where, 0, stream));
#endif
  }

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace gpubench
