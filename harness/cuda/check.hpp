// CUDA_CHECK(call): every CUDA call is checked, and a failure says which call, where and why.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gpubench {

class CudaError : public std::runtime_error {
 public:
  // `what_failed`: the call as it stands in the source, or words for it. `where`: "file:line".
  CudaError(cudaError_t code, const std::string& what_failed, const std::string& where);

  cudaError_t code() const { return code_; }

  // Two failures that say something about the device rather than about the program: a row that
  // meets one is skipped with a reason.
  bool is_out_of_memory() const { return code_ == cudaErrorMemoryAllocation; }
  bool is_unsupported() const {
    return code_ == cudaErrorNotSupported || code_ == cudaErrorNoKernelImageForDevice ||
           code_ == cudaErrorInvalidDeviceFunction;
  }
  // What a stream capture does not permit; the call itself may be right.
  bool is_capture_failure() const {
    return code_ >= cudaErrorStreamCaptureUnsupported && code_ <= cudaErrorStreamCaptureWrongThread;
  }

 private:
  cudaError_t code_;
};

// A name of error_kind for what the code says (harness/records/row.hpp).
const char* error_kind_of(cudaError_t code);

namespace detail {

[[noreturn]] void cuda_failed(cudaError_t code, const char* call, const char* file, int line);

inline void cuda_check(cudaError_t code, const char* call, const char* file, int line) {
  if (code != cudaSuccess) cuda_failed(code, call, file, line);
}

}  // namespace detail
}  // namespace gpubench

#define CUDA_CHECK(...) \
  ::gpubench::detail::cuda_check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
