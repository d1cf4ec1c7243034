// Copies.
#include <cstring>
#include <utility>
#include <vector>

#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench::model {
namespace {

// Where nobody asks for results, copies up to this are carried out all the same: flags and scalars
// that a program looks at.
constexpr std::size_t copied_when_timing = std::size_t{1} << 20;

}  // namespace

// What a copy does, by where its ends lie; empty when they do not agree with `kind`.
std::optional<cudaMemcpyKind> Runtime::direction(const void* to, const void* from,
                                                 std::size_t bytes, cudaMemcpyKind kind) const {
  const auto on_device = [&](const void* address) -> std::optional<bool> {
    if (is_device_range(address, bytes)) return true;
    if (address == nullptr || memory_.in_range(address)) return std::nullopt;
    return false;
  };
  const auto to_device = on_device(to);
  const auto from_device = on_device(from);
  if (!to_device || !from_device) return std::nullopt;
  const cudaMemcpyKind found =
      *to_device ? (*from_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
                 : (*from_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
  if (kind != cudaMemcpyDefault && kind != found) return std::nullopt;
  return found;
}

cudaError_t Runtime::copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                          cudaStream_t stream, bool asynchronous) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  if (!asynchronous) {
    if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  }
  if (bytes == 0) return cudaSuccess;
  has_moved_bytes_ = true;
  const auto found = direction(to, from, bytes, kind);
  if (!found) return cudaErrorInvalidValue;

  const bool to_device = *found == cudaMemcpyHostToDevice;
  const bool to_host = *found == cudaMemcpyDeviceToHost;
  const bool between = *found == cudaMemcpyDeviceToDevice;
  if (between && !same_node(memory_.find(from)->device, memory_.find(to)->device)) {
    return cudaErrorInvalidValue;
  }
  const bool pinned = is_mapped_host(to_device ? from : to, bytes);
  const bool captured = queue->capture != nullptr;
  const Ordering& ordering = options_.conditions.ordering;
  // What cudaMemcpy waits for before it copies from pageable memory, and CUDA promises no more.
  const std::vector<OperationPtr> before = last_of(*queue);
  const bool staged = to_device && !pinned && !captured && ordering.late_pageable_copies;
  if (staged && !asynchronous) {
    if (const cudaError_t error = wait_for(before); error != cudaSuccess) return error;
  }
  Work work = to_device || to_host ? copy_over_link(to, from, bytes, to_device, pinned)
              : between            ? copy_on_devices(to, from, bytes)
                                   : copy_on_host(to, from, bytes);
  if (staged) stage(work, to, from, bytes);
  work.late = staged || (between && ordering.late_device_copies);
  work.touches = std::make_shared<Touches>();
  add_touch(*work.touches, memory_, from, bytes, Touch::read);
  add_touch(*work.touches, memory_, to, bytes, Touch::write);
  if (const cudaError_t error = enqueue(*queue, std::move(work)); error != cudaSuccess) {
    return error;
  }
  const bool over_link_at_once = (to_device || to_host) && asynchronous && pinned;
  if (captured || staged || between || over_link_at_once) return cudaSuccess;
  const bool promised = !(to_device && !pinned) && !(to_host && asynchronous);
  const cudaError_t error = wait_for({queue->last}, promised);
  if (error == cudaSuccess && to_device && !asynchronous) learn(before);
  return error;
}

Work Runtime::copy_on_host(void* to, const void* from, std::size_t bytes) const {
  const auto amount = static_cast<double>(bytes);
  const double seconds = amount / device_["pageable_bytes_per_second"];
  Work work{.name = "copy on host", .bytes = amount};
  work.carry_out = [=] { return std::memmove(to, from, bytes), seconds; };
  return work;
}

Work Runtime::copy_over_link(void* to, const void* from, std::size_t bytes, bool to_device,
                             bool pinned) {
  const auto amount = static_cast<double>(bytes);
  const char* const rate = !pinned     ? "pageable_bytes_per_second"
                           : to_device ? "pcie_h2d_bytes_per_second"
                                       : "pcie_d2h_bytes_per_second";
  const double seconds = device_["pcie_latency_seconds"] + amount / device_[rate];
  Work work{.name = to_device ? "copy to device" : "copy to host",
            .engine = to_device ? Engine::copy_to_device : Engine::copy_to_host,
            .bytes = amount};
  work.carry_out = [=, this] {
    if (results_ || bytes <= copied_when_timing) {
      to_device ? memory_.write(to, from, bytes) : memory_.read(to, from, bytes);
    }
    return seconds;
  };
  return work;
}

// A kernel of the driver's: every byte is read and written. To a peer: over the link.
Work Runtime::copy_on_devices(void* to, const void* from, std::size_t bytes) {
  const auto amount = static_cast<double>(bytes);
  const bool same = memory_.find(from)->device == memory_.find(to)->device;
  const double seconds =
      device_["kernel_floor_seconds"] +
      (same ? 2 * amount / (device_["dram_bytes_per_second"] * device_["dram_mixed_efficiency"])
            : amount / device_["nvlink_bytes_per_second"]);
  Work work{.name = same ? "copy on device" : "copy to peer",
            .engine = same ? Engine::compute : Engine::copy_to_device,
            .bytes = amount};
  work.carry_out = [=, this] {
    if (results_ || bytes <= copied_when_timing) memory_.copy(to, from, bytes);
    return seconds;
  };
  return work;
}

// As CUDA may: the host goes on once `from` lies in memory of the driver's own, and the device gets
// it from there, later.
void Runtime::stage(Work& work, void* to, const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(from);
  const std::size_t kept = results_ || bytes <= copied_when_timing ? bytes : 0;
  pay(static_cast<double>(bytes) / device_["pageable_bytes_per_second"]);
  work.carry_out = [=, this, own = std::vector<std::byte>(begin, begin + kept)] {
    memory_.write(to, own.data(), own.size());
    return device_["pcie_latency_seconds"] +
           static_cast<double>(bytes) / device_["pcie_h2d_bytes_per_second"];
  };
}

}  // namespace gpubench::model
