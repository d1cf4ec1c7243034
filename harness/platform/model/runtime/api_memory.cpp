// The API's functions for memory.
#include <cuda_runtime.h>

#include "harness/platform/model/runtime/api.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

using gpubench::model::call;
using gpubench::model::Runtime;

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call(__func__, [&](Runtime& r) { return r.memory_info(free, total); });
}

cudaError_t cudaMalloc(void** device, std::size_t bytes) {
  return call(__func__, [&](Runtime& r) { return r.malloc_device(device, bytes); });
}

cudaError_t cudaFree(void* device) {
  return call(__func__, [&](Runtime& r) { return r.free_device(device); });
}

cudaError_t cudaMallocHost(void** host, std::size_t bytes) {
  return call(__func__, [&](Runtime& r) { return r.malloc_host(host, bytes); });
}

cudaError_t cudaHostAlloc(void** host, std::size_t bytes, unsigned int flags) {
  return call(__func__, [&](Runtime& r) {
    constexpr unsigned known =
        cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    return (flags & ~known) == 0 ? r.malloc_host(host, bytes) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  return call(__func__, [&](Runtime& r) {
    return flags == 0 ? r.host_device_pointer(device, host) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaFreeHost(void* host) {
  return call(__func__, [&](Runtime& r) { return r.free_host(host); });
}

cudaError_t cudaHostRegister(void* host, std::size_t bytes, unsigned int flags) {
  return call(__func__, [&](Runtime& r) {
    return flags == cudaHostRegisterDefault ? r.host_register(host, bytes) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostUnregister(void* host) {
  return call(__func__, [&](Runtime& r) { return r.host_unregister(host); });
}

cudaError_t cudaMallocManaged(void** managed, std::size_t bytes, unsigned int flags) {
  return call(__func__, [&](Runtime& r) {
    return flags == cudaMemAttachGlobal ? r.malloc_managed(managed, bytes) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemPrefetchAsync(const void* managed, std::size_t bytes, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream) {
  return call(__func__, [&](Runtime& r) {
    return flags == 0 ? r.prefetch(managed, bytes, location, stream) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return call(__func__, [&](Runtime& r) { return r.copy(to, from, bytes, kind, nullptr, false); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call(__func__, [&](Runtime& r) { return r.copy(to, from, bytes, kind, stream, true); });
}

cudaError_t cudaMemset(void* device, int byte, std::size_t bytes) {
  return call(__func__, [&](Runtime& r) { return r.set(device, byte, bytes, nullptr, false); });
}

cudaError_t cudaMemsetAsync(void* device, int byte, std::size_t bytes, cudaStream_t stream) {
  return call(__func__, [&](Runtime& r) { return r.set(device, byte, bytes, stream, true); });
}
