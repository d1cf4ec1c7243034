#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "harness/cuda/check.hpp"

namespace gpubench {

// A point in a stream. With cudaEventDisableTiming it only orders, and costs less.
class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) {
    CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags));
  }
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }

  operator cudaEvent_t() const { return event_; }
  void record(cudaStream_t stream) const { CUDA_CHECK(cudaEventRecord(event_, stream)); }
  void synchronize() const { CUDA_CHECK(cudaEventSynchronize(event_)); }
  // Whether the device has got there; does not wait.
  bool has_happened() const {
    const cudaError_t error = cudaEventQuery(event_);
    if (error == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // an answer, not a failure
      return false;
    }
    CUDA_CHECK(error);
    return true;
  }
  // `stream` waits for this point.
  void hold(cudaStream_t stream) const { CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0)); }

 private:
  cudaEvent_t event_ = nullptr;
};

// The device's time between two events that have both happened [s]. CUDA counts in milliseconds
// and resolves about half a microsecond.
inline double seconds_between(const Event& start, const Event& end) {
  float milliseconds = 0;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, end));
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace gpubench
