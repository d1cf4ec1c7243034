// What the device says of itself.
#include "harness/platform/model/runtime/runtime.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace gpubench::model {
namespace {

// CUDA has no larger number for what a file may say.
int as_int(double value) {
  return static_cast<int>(std::min<double>(value, std::numeric_limits<int>::max()));
}

// Nothing of an attribute that the model does not know.
std::optional<int> attribute_of(const DeviceSpec& device, cudaDeviceAttr attribute) {
  const auto figure = [&](const char* name) { return as_int(device[name]); };
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return figure("max_threads_per_block");
    case cudaDevAttrMaxBlockDimZ:
      return 64;
    case cudaDevAttrMaxGridDimX:
      return std::numeric_limits<int>::max();
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return 65535;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrUnifiedAddressing:
      return 1;
    case cudaDevAttrComputeCapabilityMajor:
      return device.compute_capability().first;
    case cudaDevAttrComputeCapabilityMinor:
      return device.compute_capability().second;
    case cudaDevAttrClusterLaunch:
      return device.find("max_cluster_blocks") ? 1 : 0;
    case cudaDevAttrComputeMode:
      return cudaComputeModeDefault;
    case cudaDevAttrMemoryClockRate:
    case cudaDevAttrGlobalMemoryBusWidth:
      break;
    case cudaDevAttrClockRate:
      return as_int(device["sm_clock_hz"] / 1000);
    case cudaDevAttrMultiProcessorCount:
      return figure("sm_count");
    case cudaDevAttrL2CacheSize:
      return figure("l2_bytes");
    case cudaDevAttrAsyncEngineCount:
      return figure("copy_engines");
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return figure("max_threads_per_sm");
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return figure("max_blocks_per_sm");
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return figure("registers_per_sm");
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return figure("shared_bytes_per_block");
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return figure("shared_bytes_per_block_optin");
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return figure("shared_bytes_per_sm");
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return figure("shared_reserved_bytes_per_block");
  }
  return std::nullopt;
}

}  // namespace

cudaError_t Runtime::set_device(int device) {
  if (!is_device(device)) return cudaErrorInvalidDevice;
  current_device_[std::this_thread::get_id()] = device;
  return cudaSuccess;
}

int Runtime::current_device() const {
  const auto found = current_device_.find(std::this_thread::get_id());
  return found == current_device_.end() ? 0 : found->second;
}

cudaError_t Runtime::memory_info(std::size_t* free, std::size_t* total) const {
  if (free == nullptr || total == nullptr) return cudaErrorInvalidValue;
  *free = memory_.free_bytes(current_device());
  *total = memory_.capacity();
  return cudaSuccess;
}

cudaError_t Runtime::can_access_peer(int* can, int device, int peer) const {
  if (can == nullptr) return cudaErrorInvalidValue;
  if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
  *can = device != peer && same_node(device, peer) &&
         device_.find("nvlink_bytes_per_second").has_value();
  return cudaSuccess;
}

cudaError_t Runtime::peer_attribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                    int peer) const {
  int can = 0;
  if (value == nullptr || device == peer) return cudaErrorInvalidValue;
  if (const cudaError_t error = can_access_peer(&can, device, peer); error != cudaSuccess) {
    return error;
  }
  switch (attribute) {
    case cudaDevP2PAttrPerformanceRank:  // all links are alike
      *value = 0;
      return cudaSuccess;
    case cudaDevP2PAttrNativeAtomicSupported:
      *value = can;
      return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t Runtime::enable_peer_access(int peer) {
  const int device = current_device();
  int can = 0;
  if (const cudaError_t error = can_access_peer(&can, device, peer); error != cudaSuccess) {
    return error;
  }
  if (can == 0) return cudaErrorPeerAccessUnsupported;
  return peers_.emplace(device, peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

bool Runtime::may_access(int device, int peer) const {
  return device == peer || peers_.contains({device, peer});
}

cudaError_t Runtime::attribute(int* value, cudaDeviceAttr attribute, int device) const {
  if (value == nullptr) return cudaErrorInvalidValue;
  if (!is_device(device)) return cudaErrorInvalidDevice;
  const std::optional<int> answer = attribute_of(device_, attribute);
  if (!answer) return cudaErrorInvalidValue;
  *value = *answer;
  return cudaSuccess;
}

cudaError_t Runtime::properties(cudaDeviceProp* properties, int device) const {
  if (properties == nullptr) return cudaErrorInvalidValue;
  if (!is_device(device)) return cudaErrorInvalidDevice;
  const auto value = [&](cudaDeviceAttr which) {
    int result = 0;
    attribute(&result, which, 0);
    return result;
  };
  const auto bytes = [&](cudaDeviceAttr which) { return static_cast<std::size_t>(value(which)); };
  cudaDeviceProp p{};
  device_.title().copy(p.name, sizeof p.name - 1);
  p.totalGlobalMem = memory_.capacity();
  p.sharedMemPerBlock = bytes(cudaDevAttrMaxSharedMemoryPerBlock);
  p.regsPerBlock = value(cudaDevAttrMaxRegistersPerBlock);
  p.warpSize = value(cudaDevAttrWarpSize);
  p.maxThreadsPerBlock = value(cudaDevAttrMaxThreadsPerBlock);
  p.maxThreadsDim[0] = value(cudaDevAttrMaxBlockDimX);
  p.maxThreadsDim[1] = value(cudaDevAttrMaxBlockDimY);
  p.maxThreadsDim[2] = value(cudaDevAttrMaxBlockDimZ);
  p.maxGridSize[0] = value(cudaDevAttrMaxGridDimX);
  p.maxGridSize[1] = value(cudaDevAttrMaxGridDimY);
  p.maxGridSize[2] = value(cudaDevAttrMaxGridDimZ);
  p.major = value(cudaDevAttrComputeCapabilityMajor);
  p.minor = value(cudaDevAttrComputeCapabilityMinor);
  p.multiProcessorCount = value(cudaDevAttrMultiProcessorCount);
  p.canMapHostMemory = value(cudaDevAttrCanMapHostMemory);
  p.concurrentKernels = value(cudaDevAttrConcurrentKernels);
  p.asyncEngineCount = value(cudaDevAttrAsyncEngineCount);
  p.unifiedAddressing = value(cudaDevAttrUnifiedAddressing);
  p.l2CacheSize = value(cudaDevAttrL2CacheSize);
  p.maxThreadsPerMultiProcessor = value(cudaDevAttrMaxThreadsPerMultiProcessor);
  p.sharedMemPerMultiprocessor = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  p.regsPerMultiprocessor = value(cudaDevAttrMaxRegistersPerMultiprocessor);
  p.sharedMemPerBlockOptin = bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  p.maxBlocksPerMultiProcessor = value(cudaDevAttrMaxBlocksPerMultiprocessor);
  p.reservedSharedMemPerBlock = bytes(cudaDevAttrReservedSharedMemoryPerBlock);
  *properties = p;
  return cudaSuccess;
}

// Waits for every device: nothing in the suite lets one work on while it waits for another.
cudaError_t Runtime::device_synchronize() {
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  return wait_until_idle(true);
}

}  // namespace gpubench::model
