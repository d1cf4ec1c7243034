// Memory, copies and the words that gates wait for.
#include "harness/platform/model/runtime/runtime.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <utility>

namespace gpubench::model {
namespace {

constexpr std::size_t host_alignment = 4096;  // pinned memory comes in pages

}  // namespace

cudaError_t Runtime::malloc_device(void** device, std::size_t bytes) {
  if (device == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  pay(device_["sync_host_seconds"]);
  *device = bytes == 0 ? nullptr : memory_.allocate(bytes, current_device());
  return bytes != 0 && *device == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t Runtime::free_device(void* device) {
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  if (device == nullptr) return cudaSuccess;
  if (const cudaError_t error = wait_until_idle(); error != cudaSuccess) return error;
  return memory_.release(device) || release_host(device, HostAllocation::Kind::managed)
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

cudaError_t Runtime::malloc_host(void** host, std::size_t bytes) {
  return allocate_host(host, bytes, HostAllocation::Kind::pinned);
}

cudaError_t Runtime::allocate_host(void** host, std::size_t bytes, HostAllocation::Kind kind) {
  if (host == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  pay(device_["sync_host_seconds"]);
  *host = nullptr;
  if (bytes == 0)
    return kind == HostAllocation::Kind::managed ? cudaErrorInvalidValue : cudaSuccess;
  if (bytes > std::numeric_limits<std::size_t>::max() - host_alignment) {
    return cudaErrorMemoryAllocation;
  }
  const std::size_t rounded = (bytes + host_alignment - 1) / host_alignment * host_alignment;
  auto* begin = static_cast<std::byte*>(std::aligned_alloc(host_alignment, rounded));
  if (begin == nullptr) return cudaErrorMemoryAllocation;
  HostAllocation made{{begin, &std::free}, bytes, kind};
  if (kind == HostAllocation::Kind::managed) made.on_device.resize(rounded / host_alignment);
  const std::lock_guard lock(host_mutex_);
  host_allocations_.emplace(begin, std::move(made));
  *host = begin;
  return cudaSuccess;
}

bool Runtime::release_host(void* host, HostAllocation::Kind kind) {
  const std::lock_guard lock(host_mutex_);
  const auto found = host_allocations_.find(static_cast<std::byte*>(host));
  if (found == host_allocations_.end() || found->second.kind != kind) return false;
  host_allocations_.erase(found);
  return true;
}

// One address space: the device reaches pinned memory under the host's own address.
cudaError_t Runtime::host_device_pointer(void** device, void* host) {
  if (device == nullptr || !is_mapped_host(host, 1)) return cudaErrorInvalidValue;
  *device = host;
  return cudaSuccess;
}

cudaError_t Runtime::free_host(void* host) {
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  if (host == nullptr) return cudaSuccess;
  if (const cudaError_t error = wait_until_idle(); error != cudaSuccess) return error;
  return release_host(host, HostAllocation::Kind::pinned) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t Runtime::host_register(void* host, std::size_t bytes) {
  if (host == nullptr || bytes == 0) return cudaErrorInvalidValue;
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  pay(device_["sync_host_seconds"]);
  auto* const begin = static_cast<std::byte*>(host);
  const std::lock_guard lock(host_mutex_);
  const auto after = host_allocations_.lower_bound(begin);
  const bool overlaps = (after != host_allocations_.end() && after->first < begin + bytes) ||
                        host_allocation(host, 1) != nullptr;
  if (overlaps) return cudaErrorHostMemoryAlreadyRegistered;
  constexpr auto keep = [](void*) {};  // it belongs to whoever registered it
  host_allocations_.emplace(begin,
                            HostAllocation{{begin, keep}, bytes, HostAllocation::Kind::registered});
  return cudaSuccess;
}

cudaError_t Runtime::host_unregister(void* host) {
  if (host == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  if (const cudaError_t error = wait_until_idle(); error != cudaSuccess) return error;
  return release_host(host, HostAllocation::Kind::registered) ? cudaSuccess
                                                              : cudaErrorHostMemoryNotRegistered;
}

// Both sides reach it under one address, always; what moves is where it is said to lie. Only
// prefetches move it: what a page that is touched elsewhere would cost is not modelled.
cudaError_t Runtime::malloc_managed(void** managed, std::size_t bytes) {
  return allocate_host(managed, bytes, HostAllocation::Kind::managed);
}

cudaError_t Runtime::prefetch(const void* managed, std::size_t bytes, cudaMemLocation location,
                              cudaStream_t stream) {
  has_moved_bytes_ = true;
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  const bool to_device = location.type == cudaMemLocationTypeDevice;
  if (!to_device && location.type != cudaMemLocationTypeHost) return cudaErrorInvalidValue;
  if (to_device && !is_device(location.id)) return cudaErrorInvalidDevice;
  {
    const std::lock_guard lock(host_mutex_);
    const HostAllocation* found = host_allocation(managed, bytes);
    if (found == nullptr || found->kind != HostAllocation::Kind::managed || bytes == 0) {
      return cudaErrorInvalidValue;
    }
  }
  Work work{.name = to_device ? "prefetch to device" : "prefetch to host",
            .engine = to_device ? Engine::copy_to_device : Engine::copy_to_host,
            .bytes = static_cast<double>(bytes)};
  work.carry_out = [=, this] {  // whole pages, and only those that are not there yet
    const std::lock_guard lock(host_mutex_);
    const HostAllocation* const found = host_allocation(managed, bytes);
    if (found == nullptr) return 0.0;
    const auto offset =
        static_cast<std::size_t>(static_cast<const std::byte*>(managed) - found->begin.get());
    std::size_t moved = 0;
    for (std::size_t page = offset / host_alignment; page <= (offset + bytes - 1) / host_alignment;
         ++page) {
      moved += found->on_device[page] != to_device;
      found->on_device[page] = to_device;
    }
    const double rate =
        device_[to_device ? "pcie_h2d_bytes_per_second" : "pcie_d2h_bytes_per_second"];
    return device_["pcie_latency_seconds"] + static_cast<double>(moved * host_alignment) / rate;
  };
  return enqueue(*queue, std::move(work));
}

bool Runtime::is_device_range(const void* address, std::size_t bytes) const {
  const Allocation* allocation = memory_.find(address);
  return allocation != nullptr && allocation->team == 0 && allocation->contains(address, bytes);
}

cudaError_t Runtime::set(void* to, int byte, std::size_t bytes, cudaStream_t stream,
                         bool asynchronous) {
  has_moved_bytes_ = true;
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (bytes == 0) return cudaSuccess;
  const bool on_device = is_device_range(to, bytes);
  if (!on_device && !is_mapped_host(to, bytes)) return cudaErrorInvalidValue;
  const double rate = on_device
                          ? device_["dram_bytes_per_second"] * device_["dram_write_efficiency"]
                          : device_["pcie_d2h_bytes_per_second"];
  const double seconds = device_["kernel_floor_seconds"] + static_cast<double>(bytes) / rate;
  Work work{.name = "set", .engine = Engine::compute, .bytes = static_cast<double>(bytes)};
  work.carry_out = [=, this] {
    if (on_device) {
      memory_.set(to, byte, bytes);
    } else {
      std::memset(to, byte, bytes);
    }
    return seconds;
  };
  work.touches = std::make_shared<Touches>();
  add_touch(*work.touches, memory_, to, bytes, Touch::write);
  work.late = on_device && options_.conditions.ordering.late_memsets;
  if (const cudaError_t error = enqueue(*queue, std::move(work)); error != cudaSuccess) {
    return error;
  }
  // For device memory the host waits for neither kind.
  return on_device || asynchronous ? cudaSuccess : wait_for({queue->last});
}

// --- stream memory operations ---

std::uint32_t Runtime::read_word(const void* address) const {
  std::uint32_t word = 0;
  if (memory_.in_range(address)) {
    memory_.read(&word, address, sizeof word);
  } else {  // the host may write it at any time
    word = __atomic_load_n(static_cast<const std::uint32_t*>(address), __ATOMIC_ACQUIRE);
  }
  return word;
}

cudaError_t Runtime::wait_value(cudaStream_t stream, CUdeviceptr address, cuuint32_t value,
                                unsigned int flags) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  const void* const place = reinterpret_cast<const void*>(address);
  if (flags > CU_STREAM_WAIT_VALUE_AND || address % sizeof value != 0 ||
      !(is_device_range(place, sizeof value) || is_mapped_host(place, sizeof value))) {
    return cudaErrorInvalidValue;
  }
  static constexpr std::array<const char*, 3> signs{">=", "==", "&"};
  std::ostringstream name;
  name << "value at " << place << ' ' << signs[flags] << ' ' << value;
  Work work{.name = name.str()};
  work.condition = [=, this] {
    const std::uint32_t now = read_word(place);
    if (flags == CU_STREAM_WAIT_VALUE_GEQ) return static_cast<std::int32_t>(now - value) >= 0;
    return flags == CU_STREAM_WAIT_VALUE_EQ ? now == value : (now & value) != 0;
  };
  work.on_order = [=, this](InOrder& mine) {
    const auto written = written_.find(address);
    if (written != written_.end()) mine.come_after(written->second);
  };
  return enqueue(*queue, std::move(work));
}

cudaError_t Runtime::write_value(cudaStream_t stream, CUdeviceptr address, cuuint32_t value) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  void* const place = reinterpret_cast<void*>(address);
  const bool on_device = is_device_range(place, sizeof value);
  if (address % sizeof value != 0 || !(on_device || is_mapped_host(place, sizeof value))) {
    return cudaErrorInvalidValue;
  }
  Work work{.name = "write value"};
  work.carry_out = [=, this] {
    if (on_device) {
      memory_.write(place, &value, sizeof value);
    } else {
      __atomic_store_n(static_cast<std::uint32_t*>(place), value, __ATOMIC_RELEASE);
    }
    return 0.0;
  };
  work.on_order = [=, this](const InOrder& mine) { written_[address] = mine; };
  return enqueue(*queue, std::move(work));
}

}  // namespace gpubench::model
