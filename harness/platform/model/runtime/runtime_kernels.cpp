// Kernels: launches, limits and occupancy.
#include "harness/platform/model/runtime/runtime.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "harness/platform/model/time/occupancy.hpp"

namespace gpubench::model {
namespace {

bool is_empty(dim3 size) { return size.x == 0 || size.y == 0 || size.z == 0; }

bool is_possible(dim3 grid, dim3 block, unsigned max_threads) {
  return grid.x <= std::numeric_limits<std::int32_t>::max() && grid.y <= 65535 && grid.z <= 65535 &&
         block.x <= max_threads && block.y <= max_threads && block.z <= 64 &&
         block.x * block.y * block.z <= max_threads;
}

DeviceFault fault_of(const char* kernel, const KernelOutcome& outcome) {
  const bool is_named = outcome.error.starts_with(kernel);
  return DeviceFault((is_named ? "" : std::string(kernel) + ": ") + outcome.error,
                     outcome.is_illegal_access ? cudaErrorIllegalAddress : cudaErrorLaunchFailure);
}

// Part of what an empty kernel takes between two events overlaps with the start of what comes next.
void set_spacing(Work& work, const DeviceSpec& device, bool captured) {
  const double floor = device["kernel_floor_seconds"];
  const double spacing = device[captured ? "launch_graph_seconds" : "launch_stream_seconds"];
  const double early = device.find("launch_programmatic_seconds").value_or(spacing);
  work.hold_seconds = spacing;
  work.lead_seconds = std::max(floor - spacing, 0.0);
  work.early_hold_seconds = early;
  work.early_lead_seconds = std::max(floor - early, 0.0);
}

}  // namespace

KernelResources Runtime::resources(const void* function) const {
  return options_.kernel_resources ? options_.kernel_resources(function) : KernelResources{};
}

std::size_t Runtime::max_dynamic_shared(const void* function) const {
  const auto set = dynamic_shared_.find(function);
  if (set != dynamic_shared_.end()) return set->second;
  const auto limit = static_cast<std::size_t>(device_["shared_bytes_per_block"]);
  return limit - std::min(limit, resources(function).static_shared_bytes);
}

unsigned Runtime::blocks_per_sm(const void* function, unsigned threads,
                                std::size_t dynamic_bytes) const {
  const KernelResources kernel = resources(function);
  return occupancy(device_, {.threads = threads,
                             .shared_bytes = kernel.static_shared_bytes + dynamic_bytes,
                             .registers = kernel.registers})
      .blocks_per_sm;
}

cudaError_t Runtime::launch(KernelLaunch launch, cudaStream_t stream) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr || queue->device != current_device()) return cudaErrorInvalidResourceHandle;
  launch.device = queue->device;
  const dim3 grid = launch.grid;
  const dim3 block = launch.block;
  // As an H100 with driver 580 answers a launch by cudaLaunchKernelEx.
  if (is_empty(grid) || is_empty(block)) return cudaErrorInvalidValue;
  if (!is_possible(grid, block, static_cast<unsigned>(device_["max_threads_per_block"]))) {
    return cudaErrorInvalidConfiguration;
  }
  if (launch.shared_bytes > max_dynamic_shared(launch.function)) return cudaErrorInvalidValue;
  const unsigned resident =
      blocks_per_sm(launch.function, block.x * block.y * block.z, launch.shared_bytes);
  if (resident == 0) return cudaErrorLaunchOutOfResources;

  if (launch.cluster != 1) {
    if (max_cluster(launch.function) == 0) return cudaErrorNotSupported;
    if (launch.cluster == 0 || launch.cluster > max_cluster(launch.function) ||
        grid.x % launch.cluster != 0) {
      return cudaErrorInvalidClusterSize;
    }
  }

  const double blocks = static_cast<double>(grid.x) * grid.y * grid.z;
  if (launch.cooperative && blocks > resident * device_["sm_count"]) {
    return cudaErrorCooperativeLaunchTooLarge;
  }

  // Before compute capability 9.0 there is no such figure.
  if (launch.programmatic && !device_.find("launch_programmatic_seconds")) {
    return cudaErrorNotSupported;
  }

  if (queue->capture == nullptr && options_.lazy_loading && !loaded_.contains(launch.function)) {
    if (const cudaError_t error = wait_until_idle(); error != cudaSuccess) return error;
  }
  loaded_.insert(launch.function);
  return enqueue(*queue, kernel_work(std::move(launch), *queue, resident));
}

Work Runtime::kernel_work(KernelLaunch launch, const CUstream_st& queue, unsigned resident) {
  const dim3 grid = launch.grid;
  const double blocks =
      static_cast<double>(grid.x) * static_cast<double>(grid.y) * static_cast<double>(grid.z);
  // Room beside others is short in two ways: resident blocks, and the unit that the kernel was seen
  // to keep busy when it last ran on a grid of this size.
  const auto identity = std::make_pair(launch.function, blocks);
  const auto seen = utilisation_.find(identity);
  Work work{
      .name = launch.name,
      .engine = Engine::compute,
      .share = std::max(std::min(1.0, blocks / (resident * device_["sm_count"])),
                        seen == utilisation_.end() ? 0.0 : seen->second),
      .priority = queue.priority,
      .early = launch.programmatic,
  };
  set_spacing(work, device_, queue.capture != nullptr);
  work.touches = std::make_shared<Touches>();
  work.carry_out = [this, identity, touches = work.touches, launch = std::move(launch)] {
    KernelOutcome outcome = executor_.execute(launch);
    if (!outcome.error.empty()) throw fault_of(launch.name, outcome);
    lacks_memory_ |= outcome.lacks_memory;
    const Ordering& ordering = options_.conditions.ordering;
    if (is_planted(ordering.fault, launch.name, launches_for_fault_)) {
      throw DeviceFault(std::string(launch.name) + " faults, as the conditions say",
                        static_cast<cudaError_t>(ordering.fault->error));
    }
    utilisation_[identity] = std::min(1.0, outcome.utilisation);
    *touches = std::move(outcome.touches);
    return is_planted(ordering.hang, launch.name, launches_for_hang_)
               ? std::numeric_limits<double>::infinity()
               : outcome.seconds;
  };
  return work;
}

cudaError_t Runtime::queue_operation(Work work, cudaStream_t stream) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr || queue->device != current_device()) return cudaErrorInvalidResourceHandle;
  work.engine = Engine::compute;
  work.priority = queue->priority;
  set_spacing(work, device_, queue->capture != nullptr);
  return enqueue(*queue, std::move(work));
}

cudaError_t Runtime::function_attributes(cudaFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  const KernelResources kernel = resources(function);
  if (kernel.registers == 0) return cudaErrorNotSupported;  // nobody knows; 0 would be a lie
  attributes->sharedSizeBytes = kernel.static_shared_bytes;
  attributes->localSizeBytes = kernel.local_bytes;
  attributes->numRegs = static_cast<int>(kernel.registers);
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(max_dynamic_shared(function));
  const auto by_registers =
      static_cast<int>(device_["registers_per_sm"] / kernel.registers) / 32 * 32;
  attributes->maxThreadsPerBlock =
      std::min(static_cast<int>(device_["max_threads_per_block"]), by_registers);
  return cudaSuccess;
}

cudaError_t Runtime::set_max_dynamic_shared(const void* function, int bytes) {
  const auto limit = static_cast<std::size_t>(device_["shared_bytes_per_block_optin"]);
  const std::size_t fixed = resources(function).static_shared_bytes;
  if (bytes < 0 || static_cast<std::size_t>(bytes) + fixed > limit) return cudaErrorInvalidValue;
  dynamic_shared_[function] = static_cast<std::size_t>(bytes);
  return cudaSuccess;
}

cudaError_t Runtime::allow_large_clusters(const void* function, bool allowed) {
  if (allowed) {
    large_clusters_.insert(function);
  } else {
    large_clusters_.erase(function);
  }
  return cudaSuccess;
}

unsigned Runtime::max_cluster(const void* function) const {
  constexpr double portable = 8;
  const double most = device_.find("max_cluster_blocks").value_or(0);
  return static_cast<unsigned>(large_clusters_.contains(function) ? most
                                                                  : std::min(most, portable));
}

cudaError_t Runtime::occupancy_blocks(int* blocks, const void* function, int block_threads,
                                      std::size_t dynamic_shared_bytes) {
  if (blocks == nullptr || block_threads < 1) return cudaErrorInvalidValue;
  *blocks = static_cast<int>(
      blocks_per_sm(function, static_cast<unsigned>(block_threads), dynamic_shared_bytes));
  return cudaSuccess;
}

}  // namespace gpubench::model
