#include "harness/platform/model/runtime/virtual_memory.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace gpubench::model {
namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

bool is_whole(std::size_t bytes) { return bytes > 0 && bytes % VirtualMemory::granularity == 0; }

}  // namespace

// Memory of a device, or a multicast object.
struct VirtualMemory::Object {
  Object(DeviceMemory& of, std::size_t size) : memory(of), bytes(size) {}
  ~Object() {
    if (team == 0) memory.put_back(bytes, device);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // What addresses of a multicast object reach now, in the order of the devices.
  void reach_what_is_bound() const {
    if (mapped == nullptr) return;
    mapped->replicas.clear();
    for (const auto& [on, object] : bound) mapped->replicas.push_back(object->mapped);
  }

  DeviceMemory& memory;
  const std::size_t bytes;
  int device = 0;
  Allocation* mapped = nullptr;
  bool is_bound = false;
  unsigned team = 0;  // of a multicast object, as what follows
  std::set<int> devices{};
  std::map<int, ObjectPtr> bound{};
};

VirtualMemory::VirtualMemory(DeviceMemory& memory, const DeviceSpec& device, int devices)
    : memory_(memory),
      devices_(devices),
      has_multicast_(devices > 1 && device.find("nvlink_sharp_bytes_per_second").has_value()) {}

VirtualMemory::~VirtualMemory() {
  for (const auto& [address, reserved] : reservations_) {
    if (reserved.mapped != nullptr) memory_.unmap(*reserved.mapped->mapped);
    memory_.unreserve(pointer(address), reserved.bytes);
  }
}

VirtualMemory::ObjectPtr VirtualMemory::memory_of(Handle handle) const {
  const auto found = handles_.find(handle);
  return found == handles_.end() || found->second->team > 0 ? nullptr : found->second;
}

VirtualMemory::ObjectPtr VirtualMemory::multicast_of(Handle handle) const {
  const auto found = handles_.find(handle);
  return found == handles_.end() || found->second->team == 0 ? nullptr : found->second;
}

VirtualMemory::Reservation* VirtualMemory::reservation(CUdeviceptr address, std::size_t bytes) {
  const auto found = reservations_.find(address);
  return found == reservations_.end() || found->second.bytes != bytes ? nullptr : &found->second;
}

VirtualMemory::Handle VirtualMemory::add(ObjectPtr object) {
  handles_.emplace(next_handle_, std::move(object));
  return next_handle_++;
}

cudaError_t VirtualMemory::create(Handle* handle, std::size_t bytes,
                                  const CUmemAllocationProp* properties) {
  if (handle == nullptr || properties == nullptr || !is_whole(bytes) ||
      properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return cudaErrorInvalidValue;
  }
  const int device = properties->location.id;
  if (!is_device(device)) return cudaErrorInvalidDevice;
  if (!memory_.take(bytes, device)) return cudaErrorMemoryAllocation;
  auto made = std::make_shared<Object>(memory_, bytes);
  made->device = device;
  *handle = add(std::move(made));
  return cudaSuccess;
}

cudaError_t VirtualMemory::release(Handle handle) {
  return handles_.erase(handle) == 1 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t VirtualMemory::reserve(CUdeviceptr* address, std::size_t bytes) {
  if (address == nullptr || !is_whole(bytes)) return cudaErrorInvalidValue;
  void* const begin = memory_.reserve(bytes);
  if (begin == nullptr) return cudaErrorMemoryAllocation;
  *address = reinterpret_cast<CUdeviceptr>(begin);
  reservations_[*address] = {bytes};
  return cudaSuccess;
}

cudaError_t VirtualMemory::unreserve(CUdeviceptr address, std::size_t bytes) {
  const Reservation* const found = reservation(address, bytes);
  if (found == nullptr || found->mapped != nullptr) return cudaErrorInvalidValue;
  reservations_.erase(address);
  memory_.unreserve(pointer(address), bytes);
  return cudaSuccess;
}

cudaError_t VirtualMemory::map(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                               Handle handle) {
  const auto found = handles_.find(handle);
  Reservation* const there = reservation(address, bytes);
  if (found == handles_.end() || there == nullptr || there->mapped != nullptr) {
    return cudaErrorInvalidValue;
  }
  Object& object = *found->second;
  if (offset != 0 || bytes != object.bytes || object.mapped != nullptr) {
    return cudaErrorNotSupported;  // by the model
  }
  // CUDA waits until all devices have been added, which here would be for ever.
  if (object.devices.size() < object.team) return cudaErrorInvalidValue;
  object.mapped = &memory_.map(pointer(address), bytes, object.device, object.team);
  object.reach_what_is_bound();
  there->mapped = found->second;
  return cudaSuccess;
}

cudaError_t VirtualMemory::unmap(CUdeviceptr address, std::size_t bytes) {
  Reservation* const there = reservation(address, bytes);
  if (there == nullptr || there->mapped == nullptr) return cudaErrorInvalidValue;
  if (there->mapped->is_bound) return cudaErrorNotSupported;  // by the model
  memory_.unmap(*std::exchange(there->mapped->mapped, nullptr));
  there->mapped.reset();
  return cudaSuccess;
}

cudaError_t VirtualMemory::set_access(CUdeviceptr address, std::size_t bytes,
                                      const CUmemAccessDesc* access, std::size_t count) {
  const Reservation* const there = reservation(address, bytes);
  if (there == nullptr || there->mapped == nullptr || access == nullptr) {
    return cudaErrorInvalidValue;
  }
  const auto is_good = [&](const CUmemAccessDesc& one) {
    return one.location.type == CU_MEM_LOCATION_TYPE_DEVICE && is_device(one.location.id) &&
           one.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  };
  if (!std::all_of(access, access + count, is_good)) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    there->mapped->mapped->accessors->insert(access[i].location.id);
  }
  return cudaSuccess;
}

cudaError_t VirtualMemory::create_multicast(Handle* handle,
                                            const CUmulticastObjectProp* properties) {
  if (handle == nullptr || properties == nullptr || !is_whole(properties->size) ||
      properties->numDevices == 0 || properties->flags != 0) {
    return cudaErrorInvalidValue;
  }
  if (!has_multicast_) return cudaErrorNotSupported;
  auto made = std::make_shared<Object>(memory_, properties->size);
  made->team = properties->numDevices;
  *handle = add(std::move(made));
  return cudaSuccess;
}

cudaError_t VirtualMemory::add_device(Handle multicast, int device) {
  const ObjectPtr object = multicast_of(multicast);
  if (!is_device(device)) return cudaErrorInvalidDevice;
  if (object == nullptr || object->devices.size() == object->team) return cudaErrorInvalidValue;
  return object->devices.insert(device).second ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t VirtualMemory::bind(Handle multicast, std::size_t at, Handle memory, std::size_t offset,
                                std::size_t bytes) {
  const ObjectPtr object = multicast_of(multicast), part = memory_of(memory);
  // CUDA waits until all devices have been added, which here would be for ever.
  if (object == nullptr || part == nullptr || object->devices.size() < object->team ||
      !object->devices.contains(part->device) || !is_whole(bytes)) {
    return cudaErrorInvalidValue;
  }
  if (at != 0 || offset != 0 || bytes != object->bytes || bytes != part->bytes ||
      part->mapped == nullptr || part->is_bound) {
    return cudaErrorNotSupported;  // by the model
  }
  if (!object->bound.emplace(part->device, part).second) return cudaErrorInvalidValue;
  part->is_bound = true;
  object->reach_what_is_bound();
  return cudaSuccess;
}

cudaError_t VirtualMemory::unbind(Handle multicast, int device, std::size_t at, std::size_t bytes) {
  const ObjectPtr object = multicast_of(multicast);
  if (object == nullptr || at != 0 || bytes != object->bytes) return cudaErrorInvalidValue;
  const auto found = object->bound.find(device);
  if (found == object->bound.end()) return cudaErrorInvalidValue;
  found->second->is_bound = false;
  object->bound.erase(found);
  object->reach_what_is_bound();
  return cudaSuccess;
}

}  // namespace gpubench::model
