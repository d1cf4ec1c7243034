// The driver's functions for virtual memory and multicast objects.
#include "harness/platform/model/runtime/api_virtual_memory.hpp"

#include <cuda.h>

#include <utility>

#include "harness/platform/model/runtime/api.hpp"

namespace gpubench::model {
namespace {

using Handle = CUmemGenericAllocationHandle;

// The driver's numbers of devices are not the runtime's ordinals: whoever confuses the two is
// noticed.
constexpr CUdevice first_device = 100;
int ordinal_of(CUdevice device) { return device - first_device; }

// What every one of them does. Numeric values agree between the runtime's and the driver's errors.
#define GPUBENCH_DRIVER_CALL(name, body)                                             \
  static_cast<CUresult>(call(name, [&]([[maybe_unused]] Runtime& r) -> cudaError_t { \
    [[maybe_unused]] VirtualMemory& memory = r.virtual_memory();                     \
    body                                                                             \
  }))

CUresult device_get(CUdevice* device, int ordinal) {
  return GPUBENCH_DRIVER_CALL("cuDeviceGet", {
    if (device == nullptr) return cudaErrorInvalidValue;
    if (ordinal < 0 || ordinal >= r.device_count()) return cudaErrorInvalidDevice;
    *device = first_device + ordinal;
    return cudaSuccess;
  });
}

CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return GPUBENCH_DRIVER_CALL("cuDeviceGetAttribute", {
    if (value == nullptr || attribute != CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) {
      return cudaErrorInvalidValue;
    }
    const int ordinal = ordinal_of(device);
    if (ordinal < 0 || ordinal >= r.device_count()) return cudaErrorInvalidDevice;
    *value = memory.has_multicast() ? 1 : 0;
    return cudaSuccess;
  });
}

CUresult allocation_granularity(std::size_t* bytes, const CUmemAllocationProp* properties,
                                CUmemAllocationGranularity_flags) {
  return GPUBENCH_DRIVER_CALL("cuMemGetAllocationGranularity", {
    if (bytes == nullptr || properties == nullptr) return cudaErrorInvalidValue;
    *bytes = VirtualMemory::granularity;
    return cudaSuccess;
  });
}

CUresult mem_create(Handle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                    unsigned long long flags) {
  return GPUBENCH_DRIVER_CALL("cuMemCreate", {
    return flags == 0 ? memory.create(handle, bytes, properties) : cudaErrorInvalidValue;
  });
}

CUresult mem_release(Handle handle) {
  return GPUBENCH_DRIVER_CALL("cuMemRelease", return memory.release(handle););
}

CUresult mem_address_reserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags) {
  return GPUBENCH_DRIVER_CALL("cuMemAddressReserve", {
    const bool is_plain = alignment == 0 && wanted == 0 && flags == 0;
    return is_plain ? memory.reserve(address, bytes) : cudaErrorNotSupported;
  });
}

CUresult mem_address_free(CUdeviceptr address, std::size_t bytes) {
  return GPUBENCH_DRIVER_CALL("cuMemAddressFree", return memory.unreserve(address, bytes););
}

CUresult mem_map(CUdeviceptr address, std::size_t bytes, std::size_t offset, Handle handle,
                 unsigned long long flags) {
  return GPUBENCH_DRIVER_CALL("cuMemMap", {
    return flags == 0 ? memory.map(address, bytes, offset, handle) : cudaErrorInvalidValue;
  });
}

CUresult mem_unmap(CUdeviceptr address, std::size_t bytes) {
  return GPUBENCH_DRIVER_CALL("cuMemUnmap", return memory.unmap(address, bytes););
}

CUresult mem_set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access,
                        std::size_t count) {
  return GPUBENCH_DRIVER_CALL("cuMemSetAccess",
                              return memory.set_access(address, bytes, access, count););
}

CUresult multicast_granularity(std::size_t* bytes, const CUmulticastObjectProp* properties,
                               CUmulticastGranularity_flags which) {
  return GPUBENCH_DRIVER_CALL("cuMulticastGetGranularity", {
    if (bytes == nullptr || properties == nullptr) return cudaErrorInvalidValue;
    if (!memory.has_multicast()) return cudaErrorNotSupported;
    *bytes = which == CU_MULTICAST_GRANULARITY_RECOMMENDED ? VirtualMemory::recommended_granularity
                                                           : VirtualMemory::granularity;
    return cudaSuccess;
  });
}

CUresult multicast_create(Handle* handle, const CUmulticastObjectProp* properties) {
  return GPUBENCH_DRIVER_CALL("cuMulticastCreate",
                              return memory.create_multicast(handle, properties););
}

CUresult multicast_add_device(Handle multicast, CUdevice device) {
  return GPUBENCH_DRIVER_CALL("cuMulticastAddDevice",
                              return memory.add_device(multicast, ordinal_of(device)););
}

CUresult multicast_bind(Handle multicast, std::size_t at, Handle part, std::size_t offset,
                        std::size_t bytes, unsigned long long flags) {
  return GPUBENCH_DRIVER_CALL("cuMulticastBindMem", {
    return flags == 0 ? memory.bind(multicast, at, part, offset, bytes) : cudaErrorInvalidValue;
  });
}

CUresult multicast_unbind(Handle multicast, CUdevice device, std::size_t at, std::size_t bytes) {
  return GPUBENCH_DRIVER_CALL("cuMulticastUnbind",
                              return memory.unbind(multicast, ordinal_of(device), at, bytes););
}

#undef GPUBENCH_DRIVER_CALL

}  // namespace

void* virtual_memory_function(std::string_view name) {
  static const std::pair<std::string_view, void*> all[] = {
      {"cuDeviceGet", reinterpret_cast<void*>(&device_get)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(&device_attribute)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&allocation_granularity)},
      {"cuMemCreate", reinterpret_cast<void*>(&mem_create)},
      {"cuMemRelease", reinterpret_cast<void*>(&mem_release)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(&mem_address_reserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(&mem_address_free)},
      {"cuMemMap", reinterpret_cast<void*>(&mem_map)},
      {"cuMemUnmap", reinterpret_cast<void*>(&mem_unmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(&mem_set_access)},
      {"cuMulticastGetGranularity", reinterpret_cast<void*>(&multicast_granularity)},
      {"cuMulticastCreate", reinterpret_cast<void*>(&multicast_create)},
      {"cuMulticastAddDevice", reinterpret_cast<void*>(&multicast_add_device)},
      {"cuMulticastBindMem", reinterpret_cast<void*>(&multicast_bind)},
      {"cuMulticastUnbind", reinterpret_cast<void*>(&multicast_unbind)},
  };
  for (const auto& [known, function] : all) {
    if (known == name) return function;
  }
  return nullptr;
}

}  // namespace gpubench::model
