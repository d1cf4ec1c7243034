#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/cuda/check.hpp"

namespace gpubench {

// The device has too little memory for a buffer. is_out_of_memory() holds.
class DeviceMemoryError : public CudaError {
 public:
  DeviceMemoryError(std::size_t wanted, std::size_t free, const std::string& where);
  std::size_t wanted_bytes() const { return wanted_; }
  std::size_t free_bytes() const { return free_; }

 private:
  std::size_t wanted_;
  std::size_t free_;
};

namespace detail {

// Of `count` elements of `size` bytes each. std::length_error when they have no address.
std::size_t checked_bytes(std::size_t count, std::size_t size);
// Memory for them; null where that is none.
void* device_memory(std::size_t count, std::size_t size);  // DeviceMemoryError when it is short
void* pinned_memory(std::size_t count, std::size_t size);  // mapped too
void* managed_memory(std::size_t count, std::size_t size);

}  // namespace detail

// Sets device memory and returns once it is set. A cudaMemset alone returns before, and streams
// that do not block would not wait for it.
void set_memory(void* device, int byte, std::size_t bytes);

// `count` elements in the device's memory, uninitialised. No elements: data() is null.
template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_destructible_v<T>, "device memory is copied byte by byte");

 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count)
      : data_(static_cast<T*>(detail::device_memory(count, sizeof(T)))), count_(count) {}
  // Copies `host` to the device and waits for it.
  explicit DeviceBuffer(std::span<const T> host) : DeviceBuffer(host.size()) { upload(host); }
  ~DeviceBuffer() {
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

  // All three wait until it is done, whichever stream uses the buffer next. `host` has no more
  // elements than the buffer.
  void upload(std::span<const T> host) const {
    if (host.size() > count_) throw std::length_error("more elements than the buffer holds");
    CUDA_CHECK(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
    // From pageable memory, cudaMemcpy waits only until `host` has been read.
    CUDA_CHECK(cudaStreamSynchronize(nullptr));
  }
  void set(int byte) const { set_memory(data_, byte, bytes()); }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    CUDA_CHECK(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// `count` elements of page-locked host memory that the device can reach too, uninitialised.
template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_destructible_v<T>, "pinned memory is copied byte by byte");

 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(std::size_t count)
      : data_(static_cast<T*>(detail::pinned_memory(count, sizeof(T)))), count_(count) {}
  ~PinnedBuffer() {
    if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> span() const { return {data_, count_}; }

  // The same memory as the device addresses it.
  T* device_data() const {
    if (data_ == nullptr) return nullptr;
    T* device = nullptr;
    CUDA_CHECK(cudaHostGetDevicePointer(&device, data_, 0));
    return device;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// `count` elements in the host's memory: page-locked and uninitialised, or pageable and zero.
template <class T>
class HostBuffer {
 public:
  HostBuffer(std::size_t count, bool pinned)
      : pinned_(pinned ? count : 0), pageable_(pinned ? 0 : count) {}

  T* data() { return pageable_.empty() ? pinned_.data() : pageable_.data(); }
  std::size_t size() const { return pinned_.size() + pageable_.size(); }
  std::span<T> span() { return {data(), size()}; }

 private:
  PinnedBuffer<T> pinned_;
  std::vector<T> pageable_;
};

}  // namespace gpubench
