// The runtime's calls as code that nobody trusts makes them (emulator/guard.hpp): whatever they
// write in the host's memory has to be the caller's own or page-locked.
#include <cuda_runtime.h>

#include "harness/platform/model/emulator/guard.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

using gpubench::model::current_runtime;
using gpubench::model::EventKind;
using gpubench::model::require_own;

namespace {

bool is_on_device(const void* address) { return current_runtime()->memory().in_range(address); }

}  // namespace

extern "C" {

cudaError_t gpubench_guarded_cudaMemcpy(void* to, const void* from, std::size_t bytes,
                                        cudaMemcpyKind kind) {
  const void* const code = __builtin_return_address(0);
  if (!is_on_device(to)) require_own(to, bytes, EventKind::store, code);
  if (!is_on_device(from)) require_own(from, bytes, EventKind::load, code);
  return cudaMemcpy(to, from, bytes, kind);
}

// What is written later may lie on no stack.
cudaError_t gpubench_guarded_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                             cudaMemcpyKind kind, cudaStream_t stream) {
  if (!is_on_device(to) && !current_runtime()->is_mapped_host(to, bytes)) {
    return cudaErrorInvalidValue;
  }
  if (!is_on_device(from)) {
    require_own(from, bytes, EventKind::load, __builtin_return_address(0));
  }
  return cudaMemcpyAsync(to, from, bytes, kind, stream);
}

cudaError_t gpubench_guarded_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  require_own(event, sizeof(void*), EventKind::store, __builtin_return_address(0));
  return cudaEventCreateWithFlags(event, flags);
}

}  // extern "C"
