// Who wants to know of the calls that queue work or wait for it: harness/cuda/event_trace.hpp.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace gpubench {

// One call of the CUDA runtime.
struct CudaCall {
  const char* name = "";          // of the function
  cudaStream_t stream = nullptr;  // that it queues work in, or waits for
  bool queues = false;            // an operation in `stream`
  const void* kernel = nullptr;   // that it launches
  std::size_t bytes = 0;          // that it copies or sets
  const char* engine = "";        // that works on it, as far as the call tells: a track's name
  const void* to = nullptr;       // of a copy
  const void* from = nullptr;
  cudaError_t error = cudaSuccess;  // what it has returned, once it has
};

class CallListener {
 public:
  virtual ~CallListener() = default;
  virtual void before(const CudaCall& call) = 0;
  virtual void after(const CudaCall& call) = 0;
};

// This program's listener; nullptr if there is none.
inline constinit CallListener* call_listener = nullptr;

// Tells the listener of the beginning and the end of the scope that it lives in.
class AnnouncedCall {
 public:
  explicit AnnouncedCall(const CudaCall& call) : call_(call), listener_(call_listener) {
    if (listener_ != nullptr) listener_->before(call_);
  }
  ~AnnouncedCall() {
    if (listener_ != nullptr) listener_->after(call_);
  }
  AnnouncedCall(const AnnouncedCall&) = delete;
  AnnouncedCall& operator=(const AnnouncedCall&) = delete;

  // Passes on what the call has returned, which the listener gets to know.
  cudaError_t returned(cudaError_t error) { return call_.error = error; }

 private:
  CudaCall call_;
  CallListener* const listener_;
};

}  // namespace gpubench
