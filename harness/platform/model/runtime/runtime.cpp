#include "harness/platform/model/runtime/runtime.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

namespace gpubench::model {

Runtime::Runtime(DeviceSpec device, DeviceMemory& memory, KernelExecutor& executor,
                 RuntimeOptions options)
    : device_(std::move(device)),
      memory_(memory),
      executor_(executor),
      options_(std::move(options)),
      virtual_memory_(memory_, device_, device_count()),
      timeline_(device_["copy_engines"] < 2),
      legacy_(static_cast<std::size_t>(options_.devices)) {
  for (int i = 0; i < options_.devices; ++i) {
    legacy_[static_cast<std::size_t>(i)].device = i;
    legacy_[static_cast<std::size_t>(i)].legacy = true;
  }
  if (options_.conditions.timing.present) {
    pace_.emplace(options_.conditions.timing, device_["sm_clock_hz"]);
    timeline_.set_lasting(
        [this](double seconds, double start) { return pace_->kernel_seconds(seconds, start); });
  }
  if (const auto most = options_.conditions.ordering.hardware_queues) {
    hardware_queues_ = std::min(*most, wanted_connections());
  }
}

Runtime::~Runtime() = default;

// --- for those who look at the model ---

double Runtime::host_seconds() const {
  const std::lock_guard lock(mutex_);
  return host_now_;
}

std::vector<Record> Runtime::records() const {
  const std::lock_guard lock(mutex_);
  return {timeline_.records().begin(), timeline_.records().end()};
}

std::vector<HostRecord> Runtime::host_records() const {
  const std::lock_guard lock(mutex_);
  return {host_records_.begin(), host_records_.end()};
}

void Runtime::clear_records() {
  const std::lock_guard lock(mutex_);
  timeline_.clear_records();
  host_records_.clear();
}

void Runtime::restart_clock() {
  const std::lock_guard lock(mutex_);
  const auto is_done = [](const CUstream_st& stream) {
    return stream.last == nullptr || stream.last->finished;
  };
  const bool are_done =
      std::ranges::all_of(legacy_, is_done) &&
      std::ranges::all_of(streams_, [&](const auto& stream) { return is_done(*stream.second); });
  if (pace_ || !timeline_.idle() || !are_done || !events_.empty() || !captures_.empty()) return;
  timeline_.order().host_learns_all();
  for (CUstream_st& stream : legacy_) stream.last.reset();
  for (const auto& [handle, stream] : streams_) stream->last.reset();
  timeline_.restart();
  host_records_.clear();
  host_now_ = 0;
}

std::string Runtime::last_diagnostic() const {
  const std::lock_guard lock(mutex_);
  return last_diagnostic_;
}

std::string Runtime::take_diagnostic() {
  const std::lock_guard lock(mutex_);
  return std::exchange(last_diagnostic_, {});
}

std::string Runtime::endless_kernel() const {
  const std::lock_guard lock(mutex_);
  const OperationPtr& endless = timeline_.endless();
  return endless == nullptr ? "" : endless->work.name;
}

bool Runtime::is_mapped_host(const void* address, std::size_t bytes) const {
  const std::lock_guard lock(host_mutex_);
  return host_allocation(address, bytes) != nullptr;
}

// The one that holds the range, or nullptr; under host_mutex_.
const Runtime::HostAllocation* Runtime::host_allocation(const void* address,
                                                        std::size_t bytes) const {
  const auto* p = static_cast<const std::byte*>(address);
  auto after = host_allocations_.upper_bound(p);
  if (after == host_allocations_.begin()) return nullptr;
  const auto& [begin, allocation] = *std::prev(after);
  const auto offset = static_cast<std::size_t>(p - begin);
  const bool holds = offset <= allocation.bytes && bytes <= allocation.bytes - offset;
  return holds ? &allocation : nullptr;
}

void Runtime::fail_call(const std::string& function, std::size_t nth, cudaError_t error) {
  const std::lock_guard lock(mutex_);
  injected_[function] = {nth, error};
}

void Runtime::filter_calls(CallFilter filter) {
  const std::lock_guard lock(mutex_);
  filter_ = std::move(filter);
}

cudaError_t Runtime::refusal(const char* function, const void* caller) {
  const std::lock_guard lock(mutex_);
  return planted_error(function, caller);
}

void Runtime::expect_results(bool results) {
  const std::lock_guard lock(mutex_);
  results_ = results;
  if (!results) return;
  operations_.clear();
  has_moved_bytes_ = false;
}

void Runtime::note_operation(PricedOperation operation) {
  if (results_) operations_.push_back(std::move(operation));
}

std::vector<PricedOperation> Runtime::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

bool Runtime::has_moved_bytes() const {
  const std::lock_guard lock(mutex_);
  return has_moved_bytes_;
}

void Runtime::report(const std::string& line) {
  const std::lock_guard lock(mutex_);
  say(line);
}

// --- around every call ---

cudaError_t Runtime::begin_call(const char* function, const void* caller) {
  if (sticky_error_ != cudaSuccess) return sticky_error_;
  if (const cudaError_t error = planted_error(function, caller); error != cudaSuccess) return error;
  const auto injected = injected_.find(function);
  if (injected == injected_.end() || --injected->second.calls_left > 0) return cudaSuccess;
  const cudaError_t error = injected->second.error;
  injected_.erase(injected);
  return error;
}

cudaError_t Runtime::finish_call(cudaError_t error) {
  if (error != cudaSuccess) last_error_[std::this_thread::get_id()] = error;
  changed_.notify_all();
  return error;
}

void Runtime::remember(const char* function, double start) {
  if (host_now_ <= start) return;
  if (!host_records_.empty() && std::string_view(function).ends_with("Query")) {
    HostRecord& last = host_records_.back();
    if (std::string_view(last.name) == function && last.end == start) {
      last.end = host_now_;
      ++last.calls;
      return;
    }
  }
  if (host_records_.size() == Timeline::max_records) host_records_.pop_front();
  host_records_.push_back({function, 1, start, host_now_});
}

// The device does everything that begins before the host's now.
void Runtime::catch_up() {
  // As late as a command of this moment.
  timeline_.host_may_have_written(host_now_ + device_["launch_latency_seconds"]);
  while (timeline_.step(host_now_)) {
  }
  timeline_.reach(host_now_);
}

cudaError_t Runtime::guarded(const std::function<cudaError_t()>& body) {
  try {
    catch_up();
    const cudaError_t error = body();
    return std::exchange(lacks_memory_, false) ? cudaErrorMemoryAllocation : error;
  } catch (const DeviceFault& fault) {
    return fail_for_good(fault.error, fault.what());
  } catch (const std::out_of_range& fault) {
    return fail_for_good(cudaErrorIllegalAddress, fault.what());
  }
}

cudaError_t Runtime::fail_for_good(cudaError_t error, const std::string& line) {
  sticky_error_ = error;
  say(line);
  return error;
}

void Runtime::say(const std::string& line) {
  last_diagnostic_ = line;
  if (options_.diagnostic) {
    options_.diagnostic(line);
  } else {
    std::cerr << "model device: " << line << '\n';
  }
}

cudaError_t Runtime::peek_last_error() {
  const std::lock_guard lock(mutex_);
  if (sticky_error_ != cudaSuccess) return sticky_error_;
  const auto found = last_error_.find(std::this_thread::get_id());
  return found == last_error_.end() ? cudaSuccess : found->second;
}

cudaError_t Runtime::take_last_error() {
  const cudaError_t error = peek_last_error();
  const std::lock_guard lock(mutex_);
  last_error_.erase(std::this_thread::get_id());
  return error;
}

// --- what queues and what waits ---

CUstream_st* Runtime::find(cudaStream_t stream) {
  const int device = current_device();
  if (stream == nullptr || stream == cudaStreamLegacy) {
    return &legacy_[static_cast<std::size_t>(device)];
  }
  if (stream == cudaStreamPerThread) {
    cudaStream_t& own = per_thread_[{std::this_thread::get_id(), device}];
    if (own == nullptr) {
      auto created = std::make_unique<CUstream_st>();
      created->number = ++streams_created_;
      created->device = device;
      own = created.get();
      streams_.emplace(own, std::move(created));
    }
    return own;
  }
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second.get();
}

// What has to end before the stream is idle. A legacy default stream includes all blocking ones of
// its device.
std::vector<OperationPtr> Runtime::last_of(const CUstream_st& stream) const {
  std::vector<OperationPtr> operations;
  if (stream.last != nullptr) operations.push_back(stream.last);
  if (!stream.legacy) return operations;
  for (const auto& [handle, other] : streams_) {
    if (other->blocking && other->device == stream.device && other->last != nullptr) {
      operations.push_back(other->last);
    }
  }
  return operations;
}

cudaError_t Runtime::enqueue(CUstream_st& stream, Work work, const OperationPtr& also_after) {
  work.device = stream.device;
  if (stream.capture != nullptr) {
    Capture& capture = *stream.capture;
    if (capture.invalidated) return cudaErrorStreamCaptureInvalidated;
    capture.nodes.push_back({std::move(work), stream.captured});
    stream.captured = {capture.nodes.size() - 1};
    pay_to_issue(stream);
    return cudaSuccess;
  }
  if (stream.legacy) {
    for (const auto& capture : captures_) {
      if (capture->blocking_stream) return invalidate(*capture, cudaErrorStreamCaptureImplicit);
    }
  }
  std::vector<OperationPtr> after = last_of(stream);
  // Work in the legacy default stream and work in blocking streams wait for each other.
  const OperationPtr& legacy = legacy_[static_cast<std::size_t>(stream.device)].last;
  if (stream.blocking && legacy != nullptr) after.push_back(legacy);
  if (also_after != nullptr) after.push_back(also_after);
  const double earliest = host_now_ + device_["launch_latency_seconds"] + work.arrives_later;
  stream.last = hardware_queues_ ? timeline_.add_to_queue(hardware_queue(stream), std::move(work),
                                                          stream.number, earliest, after)
                                 : timeline_.add(std::move(work), stream.number, earliest, after);
  pay_to_issue(stream);
  return cudaSuccess;
}

cudaError_t Runtime::together(const std::vector<cudaStream_t>& streams, Work work) {
  std::vector<CUstream_st*> queues;
  std::vector<OperationPtr> after;
  for (const cudaStream_t stream : streams) {
    CUstream_st* const queue = find(stream);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    if (queue->capture != nullptr) {
      return invalidate(*queue->capture, cudaErrorStreamCaptureUnsupported);
    }
    const std::vector<OperationPtr> last = last_of(*queue);
    after.insert(after.end(), last.begin(), last.end());
    queues.push_back(queue);
  }
  // The last of them to be told decides, and the host tells one after the other.
  double earliest = host_now_;
  for (const CUstream_st* queue : queues) {
    earliest = host_now_ + device_["launch_latency_seconds"];
    pay_to_issue(*queue);
  }
  const OperationPtr operation =
      timeline_.add(std::move(work), queues.front()->number, earliest, after);
  for (CUstream_st* queue : queues) queue->last = operation;
  return cudaSuccess;
}

bool Runtime::has_ended(const OperationPtr& operation) const {
  return operation == nullptr || (operation->finished && operation->end <= host_now_);
}

cudaError_t Runtime::wait_for(const std::vector<OperationPtr>& operations, bool promised) {
  const cudaError_t error = wait_for_end(operations, promised);
  if (error == cudaSuccess) pay(device_["sync_host_seconds"]);
  return error;
}

cudaError_t Runtime::wait_for_end(const std::vector<OperationPtr>& operations, bool promised) {
  timeline_.need(operations, host_now_);
  for (const OperationPtr& operation : operations) {
    const cudaError_t error = block_until([&] { return operation->finished; });
    if (error != cudaSuccess) return error;
    host_now_ = std::max(host_now_, operation->end);
  }
  if (promised) learn(operations);
  return cudaSuccess;
}

cudaError_t Runtime::wait_until_idle(bool promised) {
  timeline_.need_all(host_now_);
  const cudaError_t error = block_until([&] { return timeline_.idle(); });
  if (error != cudaSuccess) return error;
  host_now_ = std::max(host_now_, timeline_.last_end());
  if (promised) timeline_.order().host_learns_all();
  learn({});
  pay(device_["sync_host_seconds"]);
  return cudaSuccess;
}

void Runtime::learn(const std::vector<OperationPtr>& ended) {
  for (const OperationPtr& operation : ended) timeline_.order().host_learns(operation->place);
  if (timeline_.idle()) timeline_.order().nothing_pending();
}

cudaError_t Runtime::block_until(const std::function<bool()>& done) {
  using clock = std::chrono::steady_clock;
  auto deadline = clock::now() + options_.deadlock_after;
  while (!done()) {
    if (timeline_.step(std::numeric_limits<double>::infinity())) {
      deadline = clock::now() + options_.deadlock_after;
      continue;
    }
    // Only another host thread can help now: with a call, or by writing to mapped memory.
    if (clock::now() >= deadline) {
      std::ostringstream line;
      if (const OperationPtr& endless = timeline_.endless(); endless != nullptr) {
        line << "deadlock: '" << endless->work.name << "' in stream " << endless->stream
             << " never ends";
        return fail_for_good(cudaErrorLaunchTimeout, line.str());
      }
      const OperationPtr blocked = timeline_.blocked();
      if (blocked == nullptr) continue;  // the word was written in this very moment
      line << "deadlock: stream " << blocked->stream << " waits for '" << blocked->work.name
           << "', which nothing did within "
           << std::chrono::duration<double>(options_.deadlock_after).count() << " s";
      return fail_for_good(cudaErrorLaunchTimeout, line.str());
    }
    changed_.wait_for(mutex_, std::chrono::milliseconds(1));
    if (sticky_error_ != cudaSuccess) return sticky_error_;
  }
  return cudaSuccess;
}

}  // namespace gpubench::model
