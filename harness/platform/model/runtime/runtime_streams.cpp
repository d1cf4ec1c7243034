// Streams and events.
#include "harness/platform/model/runtime/runtime.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace gpubench::model {
namespace {

void add_distinct(std::vector<std::size_t>& to, const std::vector<std::size_t>& from) {
  for (const std::size_t i : from) {
    if (std::find(to.begin(), to.end(), i) == to.end()) to.push_back(i);
  }
}

}  // namespace

namespace {

// Lower numbers come first. How many there are differs between devices; CUDA promises the order.
constexpr int least_priority = 0;
constexpr int greatest_priority = -1;

}  // namespace

cudaError_t Runtime::priority_range(int* least, int* greatest) const {
  if (least != nullptr) *least = least_priority;
  if (greatest != nullptr) *greatest = greatest_priority;
  return cudaSuccess;
}

// A priority outside the range is taken as the end that is nearest.
cudaError_t Runtime::stream_create(cudaStream_t* stream, unsigned int flags, int priority) {
  if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
  auto created = std::make_unique<CUstream_st>();
  created->number = ++streams_created_;
  created->device = current_device();
  created->blocking = flags == cudaStreamDefault;
  created->priority = std::clamp(priority, greatest_priority, least_priority);
  *stream = created.get();
  streams_.emplace(*stream, std::move(created));
  return cudaSuccess;
}

cudaError_t Runtime::stream_destroy(cudaStream_t stream) {
  const bool is_default =
      stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
  const CUstream_st* const queue = is_default ? nullptr : find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (queue->capture != nullptr) {
    if (queue->capture->origin == stream) captures_.erase(queue->capture);
    queue->capture->invalidated = true;
  }
  streams_.erase(stream);  // what it still has queued is carried out all the same
  return cudaSuccess;
}

cudaError_t Runtime::stream_synchronize(cudaStream_t stream) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (queue->capture != nullptr) {
    return invalidate(*queue->capture, cudaErrorStreamCaptureUnsupported);
  }
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  return wait_for(last_of(*queue));
}

cudaError_t Runtime::stream_query(cudaStream_t stream) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (queue->capture != nullptr) {
    return invalidate(*queue->capture, cudaErrorStreamCaptureUnsupported);
  }
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  pay(device_["launch_host_seconds"]);
  const std::vector<OperationPtr> last = last_of(*queue);
  timeline_.need(last, host_now_);  // whoever asks again and again is answered some time
  catch_up();
  for (const OperationPtr& operation : last) {
    if (!has_ended(operation)) return cudaErrorNotReady;
  }
  learn(last);
  return cudaSuccess;
}

cudaError_t Runtime::stream_wait_event(cudaStream_t stream, cudaEvent_t event) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr || !events_.contains(event)) return cudaErrorInvalidResourceHandle;
  if (event->capture != nullptr) {
    if (!captures_.contains(event->capture)) return cudaErrorCapturedEvent;
    if (queue->legacy) {
      return invalidate(*event->capture, cudaErrorStreamCaptureImplicit);
    }
    if (queue->capture != nullptr && queue->capture != event->capture) {
      invalidate(*queue->capture, cudaErrorStreamCaptureMerge);
      return invalidate(*event->capture, cudaErrorStreamCaptureMerge);
    }
    if (queue->capture == nullptr) {  // the stream joins the capture
      queue->capture = event->capture;
      queue->captured.clear();
      queue->capture->blocking_stream |= queue->blocking;
    }
    add_distinct(queue->captured, event->captured);
    return cudaSuccess;
  }
  if (event->recorded == nullptr) return cudaSuccess;
  if (queue->capture != nullptr) {
    return invalidate(*queue->capture, cudaErrorStreamCaptureIsolation);
  }
  return enqueue(*queue, {.name = "wait for event"}, event->recorded);
}

cudaError_t Runtime::event_create(cudaEvent_t* event, unsigned int flags) {
  if (event == nullptr || flags > (cudaEventBlockingSync | cudaEventDisableTiming)) {
    return cudaErrorInvalidValue;
  }
  auto created = std::make_unique<CUevent_st>();
  created->device = current_device();
  created->timed = (flags & cudaEventDisableTiming) == 0;
  created->blocks = (flags & cudaEventBlockingSync) != 0;
  *event = created.get();
  events_.emplace(*event, std::move(created));
  return cudaSuccess;
}

cudaError_t Runtime::event_record(cudaEvent_t event, cudaStream_t stream) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr || !events_.contains(event) || event->device != queue->device) {
    return cudaErrorInvalidResourceHandle;
  }
  if (queue->capture != nullptr) {  // marks a place in the graph and is no node of it
    if (queue->capture->invalidated) return cudaErrorStreamCaptureInvalidated;
    event->recorded = nullptr;
    event->capture = queue->capture;
    event->captured = queue->captured;
    return cudaSuccess;
  }
  // The device writes an event's time about when it gets the next command: an empty kernel takes no
  // longer between two events of an idle stream than where they wait behind other work.
  const cudaError_t error = enqueue(
      *queue, {.name = "event", .marker = true, .arrives_later = device_["launch_host_seconds"]});
  if (error != cudaSuccess) return error;
  event->capture = nullptr;
  event->recorded = queue->last;
  return cudaSuccess;
}

cudaError_t Runtime::event_synchronize(cudaEvent_t event) {
  if (!events_.contains(event)) return cudaErrorInvalidResourceHandle;
  if (event->capture != nullptr) return invalidate(*event->capture, cudaErrorCapturedEvent);
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  std::vector<OperationPtr> awaited;
  if (event->recorded != nullptr) awaited.push_back(event->recorded);
  if (const cudaError_t error = wait_for_end(awaited); error != cudaSuccess) return error;
  // A thread that sleeps wakes up later than one that spins.
  const double spinning = device_["sync_host_seconds"];
  pay(event->blocks ? device_.find("sync_block_host_seconds").value_or(spinning) : spinning);
  return cudaSuccess;
}

cudaError_t Runtime::event_query(cudaEvent_t event) {
  if (!events_.contains(event)) return cudaErrorInvalidResourceHandle;
  if (event->capture != nullptr) return invalidate(*event->capture, cudaErrorCapturedEvent);
  if (const cudaError_t error = refuse_while_capturing(); error != cudaSuccess) return error;
  pay(device_["launch_host_seconds"]);
  if (event->recorded == nullptr) return cudaSuccess;
  timeline_.need({event->recorded}, host_now_);
  catch_up();
  if (!has_ended(event->recorded)) return cudaErrorNotReady;
  learn({event->recorded});
  return cudaSuccess;
}

cudaError_t Runtime::event_elapsed(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (milliseconds == nullptr) return cudaErrorInvalidValue;
  for (const cudaEvent_t event : {start, end}) {
    if (!events_.contains(event) || !event->timed || event->recorded == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
  }
  if (!has_ended(start->recorded) || !has_ended(end->recorded)) return cudaErrorNotReady;
  const auto reading = [&](const CUevent_st& event) {
    return pace_ ? pace_->event_reading(event.recorded->end) : event.recorded->end;
  };
  *milliseconds = static_cast<float>((reading(*end) - reading(*start)) * 1e3);
  return cudaSuccess;
}

cudaError_t Runtime::event_destroy(cudaEvent_t event) {
  return events_.erase(event) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

}  // namespace gpubench::model
