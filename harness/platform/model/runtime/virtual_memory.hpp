// The driver's virtual memory: addresses, memory and multicast objects, had one by one and put
// together (CUDA driver API, "Virtual Memory Management" and "Multicast Object Management").
//
// The model keeps contents by address. So a mapping covers all of its reservation and of its
// object, an object is mapped once, and memory is mapped before it is bound and unbound before it
// is unmapped; CUDA lets more be done, which is cudaErrorNotSupported here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "harness/devices/device.hpp"
#include "harness/platform/model/include/cuda.h"
#include "harness/platform/model/include/cuda_errors.h"
#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

class VirtualMemory {
 public:
  using Handle = CUmemGenericAllocationHandle;
  static constexpr std::size_t granularity = std::size_t{1} << 20;
  // For multicast objects, and not the least: whoever confuses the two is noticed.
  static constexpr std::size_t recommended_granularity = 2 * granularity;

  // `devices`: those that share a node, and its switches if it has any.
  VirtualMemory(DeviceMemory& memory, const DeviceSpec& device, int devices);
  ~VirtualMemory();
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  bool has_multicast() const { return has_multicast_; }

  cudaError_t create(Handle* handle, std::size_t bytes, const CUmemAllocationProp* properties);
  // What it stands for goes once nothing is mapped or bound any more.
  cudaError_t release(Handle handle);
  cudaError_t reserve(CUdeviceptr* address, std::size_t bytes);
  cudaError_t unreserve(CUdeviceptr address, std::size_t bytes);
  cudaError_t map(CUdeviceptr address, std::size_t bytes, std::size_t offset, Handle handle);
  cudaError_t unmap(CUdeviceptr address, std::size_t bytes);
  cudaError_t set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access,
                         std::size_t count);

  cudaError_t create_multicast(Handle* handle, const CUmulticastObjectProp* properties);
  cudaError_t add_device(Handle multicast, int device);
  cudaError_t bind(Handle multicast, std::size_t at, Handle memory, std::size_t offset,
                   std::size_t bytes);
  cudaError_t unbind(Handle multicast, int device, std::size_t at, std::size_t bytes);

 private:
  struct Object;
  using ObjectPtr = std::shared_ptr<Object>;
  struct Reservation {
    std::size_t bytes = 0;
    ObjectPtr mapped{};
  };
  // nullptr: none of that kind has this handle.
  ObjectPtr memory_of(Handle handle) const;
  ObjectPtr multicast_of(Handle handle) const;
  Reservation* reservation(CUdeviceptr address, std::size_t bytes);
  bool is_device(int device) const { return device >= 0 && device < devices_; }
  Handle add(ObjectPtr object);

  DeviceMemory& memory_;
  const int devices_;
  const bool has_multicast_;
  Handle next_handle_ = 1;
  std::map<Handle, ObjectPtr> handles_;
  std::map<CUdeviceptr, Reservation> reservations_;
};

}  // namespace gpubench::model
