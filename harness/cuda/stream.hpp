#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "harness/cuda/check.hpp"

namespace gpubench {

// A stream of its own, not ordered with the legacy default stream unless `flags` say so.
class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) {
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, flags));
  }
  // Of two that wait, the lower `priority` goes first (cudaDeviceGetStreamPriorityRange).
  Stream(unsigned flags, int priority) {
    CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, flags, priority));
  }
  ~Stream() {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }

  operator cudaStream_t() const { return stream_; }
  void synchronize() const { CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace gpubench
