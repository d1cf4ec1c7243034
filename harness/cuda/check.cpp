// What is the same for every type of element and kernel: a bench file compiles faster without it.
#include "harness/cuda/check.hpp"

#include <limits>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/records/row.hpp"
#include "harness/system/source_path.hpp"

namespace gpubench {

CudaError::CudaError(cudaError_t code, const std::string& what_failed, const std::string& where)
    : std::runtime_error(what_failed + ": " + cudaGetErrorString(code) + " (" +
                         cudaGetErrorName(code) + ", " + where + ")"),
      code_(code) {}

DeviceMemoryError::DeviceMemoryError(std::size_t wanted, std::size_t free, const std::string& where)
    : CudaError(cudaErrorMemoryAllocation,
                "device buffer of " + std::to_string(wanted) + " bytes, " + std::to_string(free) +
                    " bytes free",
                where),
      wanted_(wanted),
      free_(free) {}

const char* error_kind_of(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return error_kind::out_of_memory;
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
      return error_kind::illegal_access;
    case cudaErrorAssert:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
      return error_kind::trap;
    case cudaErrorLaunchFailure:
      return error_kind::launch_failure;
    case cudaErrorLaunchTimeout:
      return error_kind::timeout;
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
      return error_kind::ecc_error;
    case cudaErrorNoDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceUninitialized:
    case cudaErrorContextIsDestroyed:
    case cudaErrorSystemNotReady:
      return error_kind::device_lost;
    default:
      return error_kind::cuda_error;
  }
}

namespace detail {
namespace {

std::string place(const char* file, int line) {
  return source_path(file) + ":" + std::to_string(line);
}

}  // namespace

std::size_t checked_bytes(std::size_t count, std::size_t size) {
  if (count > std::numeric_limits<std::size_t>::max() / size) {
    throw std::length_error("a buffer of " + std::to_string(count) + " elements of " +
                            std::to_string(size) + " bytes has no address");
  }
  return count * size;
}

void cuda_failed(cudaError_t code, const char* call, const char* file, int line) {
  static_cast<void>(cudaGetLastError());  // reported here, so not again by whoever asks next
  throw CudaError(code, call, place(file, line));
}

void* device_memory(std::size_t count, std::size_t size) {
  const std::size_t wanted = checked_bytes(count, size);
  void* data = nullptr;
  if (wanted == 0) return data;
  const cudaError_t error = cudaMalloc(&data, wanted);
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    std::size_t free = 0;
    std::size_t total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    throw DeviceMemoryError(wanted, free, place(__FILE__, __LINE__));
  }
  CUDA_CHECK(error);
  return data;
}

void* pinned_memory(std::size_t count, std::size_t size) {
  const std::size_t wanted = checked_bytes(count, size);
  void* data = nullptr;
  if (wanted != 0) CUDA_CHECK(cudaHostAlloc(&data, wanted, cudaHostAllocMapped));
  return data;
}

void* managed_memory(std::size_t count, std::size_t size) {
  const std::size_t wanted = checked_bytes(count, size);
  void* data = nullptr;
  if (wanted != 0) CUDA_CHECK(cudaMallocManaged(&data, wanted));
  return data;
}

void launch_failed(cudaError_t error, dim3 grid, dim3 block, std::size_t shared_bytes) {
  static_cast<void>(cudaGetLastError());
  const auto text = [](dim3 d) {
    return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " + std::to_string(d.z);
  };
  throw CudaError(error,
                  "launch of " + text(grid) + " blocks of " + text(block) + " threads with " +
                      std::to_string(shared_bytes) + " bytes of dynamic shared memory",
                  place(__FILE__, __LINE__));
}

}  // namespace detail

void set_memory(void* device, int byte, std::size_t bytes) {
  CUDA_CHECK(cudaMemset(device, byte, bytes));
  CUDA_CHECK(cudaStreamSynchronize(nullptr));
}

}  // namespace gpubench
