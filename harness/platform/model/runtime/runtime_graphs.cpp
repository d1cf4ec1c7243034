// Capture and graphs.
#include "harness/platform/model/runtime/runtime.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace gpubench::model {
namespace {

// Whether every node comes before one of `last`, or is one.
bool all_joined(const Nodes& nodes, std::vector<std::size_t> last) {
  std::set<std::size_t> seen(last.begin(), last.end());
  while (!last.empty()) {
    const std::size_t node = last.back();
    last.pop_back();
    for (const std::size_t earlier : nodes[node].after) {
      if (seen.insert(earlier).second) last.push_back(earlier);
    }
  }
  return seen.size() == nodes.size();
}

}  // namespace

cudaError_t Runtime::invalidate(Capture& capture, cudaError_t error) {
  capture.invalidated = true;
  return error;
}

cudaError_t Runtime::refuse_while_capturing() {
  cudaError_t error = cudaSuccess;
  for (const auto& capture : captures_) {
    const bool applies = capture->mode == cudaStreamCaptureModeGlobal ||
                         (capture->mode == cudaStreamCaptureModeThreadLocal &&
                          capture->thread == std::this_thread::get_id());
    if (applies) error = invalidate(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return error;
}

cudaError_t Runtime::begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) {
    return cudaErrorInvalidValue;
  }
  if (queue->legacy) return cudaErrorStreamCaptureUnsupported;
  if (queue->capture != nullptr) return cudaErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->blocking_stream = queue->blocking;
  captures_.insert(capture);
  queue->capture = std::move(capture);
  queue->captured.clear();
  return cudaSuccess;
}

cudaError_t Runtime::end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (graph == nullptr) return cudaErrorInvalidValue;
  *graph = nullptr;
  if (queue->capture == nullptr) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = queue->capture;
  if (capture->origin != stream) return invalidate(*capture, cudaErrorStreamCaptureUnmatched);
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  const std::vector<std::size_t> last = queue->captured;
  for (const auto& [handle, other] : streams_) {
    if (other->capture == capture) other->capture = nullptr;
  }
  captures_.erase(capture);
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (!all_joined(capture->nodes, last)) return cudaErrorStreamCaptureUnjoined;

  auto created = std::make_unique<CUgraph_st>();
  created->nodes = std::make_shared<const Nodes>(std::move(capture->nodes));
  *graph = created.get();
  graphs_.emplace(*graph, std::move(created));
  return cudaSuccess;
}

cudaError_t Runtime::is_capturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  CUstream_st* const queue = find(stream);
  if (queue == nullptr) return cudaErrorInvalidResourceHandle;
  if (status == nullptr) return cudaErrorInvalidValue;
  *status = queue->capture == nullptr     ? cudaStreamCaptureStatusNone
            : queue->capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                          : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

// With `nodes` null, how many there are; otherwise the first *count of them.
cudaError_t Runtime::graph_nodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (!graphs_.contains(graph) || count == nullptr) return cudaErrorInvalidValue;
  if (nodes == nullptr) {
    *count = graph->nodes->size();
    return cudaSuccess;
  }
  for (std::size_t i = 0; i < *count; ++i) {
    // Handles are not const in CUDA; nothing writes through them.
    nodes[i] =
        i < graph->nodes->size() ? const_cast<cudaGraphNode_t>(&(*graph->nodes)[i]) : nullptr;
  }
  *count = std::min(*count, graph->nodes->size());
  return cudaSuccess;
}

cudaError_t Runtime::graph_instantiate(cudaGraphExec_t* executable, cudaGraph_t graph) {
  if (executable == nullptr || !graphs_.contains(graph)) return cudaErrorInvalidValue;
  pay(device_["sync_host_seconds"]);
  auto created = std::make_unique<CUgraphExec_st>();
  created->nodes = graph->nodes;
  *executable = created.get();
  executables_.emplace(*executable, std::move(created));
  return cudaSuccess;
}

// Queues a graph's nodes after `after`; returns those that nothing else in the graph waits for, or
// `after` when the graph is empty. `branches`: how many chains the graph has so far.
std::vector<OperationPtr> Runtime::add_nodes(const Nodes& nodes, int stream, double earliest,
                                             const std::vector<OperationPtr>& after,
                                             std::int64_t& branches) {
  std::vector<OperationPtr> ends;  // by node
  std::vector<bool> is_last(nodes.size(), true);
  for (const CUgraphNode_st& node : nodes) {
    std::vector<OperationPtr> before;
    for (const std::size_t i : node.after) {
      before.push_back(ends[i]);
      is_last[i] = false;
    }
    if (node.after.empty()) before = after;
    const auto first = std::ranges::find_if(
        before, [](const OperationPtr& operation) { return !operation->continued; });
    const bool continues = first != before.end();
    if (continues) (*first)->continued = true;
    const std::int64_t branch = continues ? (*first)->branch : ++branches;
    ends.push_back(timeline_.add(node.work, stream, earliest, before, branch));
  }
  if (nodes.empty()) return after;
  std::vector<OperationPtr> last;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (is_last[i]) last.push_back(ends[i]);
  }
  return last;
}

cudaError_t Runtime::graph_launch(cudaGraphExec_t executable, cudaStream_t stream) {
  has_moved_bytes_ = true;  // it may copy
  CUstream_st* const queue = find(stream);
  if (queue == nullptr || !executables_.contains(executable)) {
    return cudaErrorInvalidResourceHandle;
  }
  if (queue->capture != nullptr) {  // as an H100 with driver 580 answers
    return invalidate(*queue->capture, cudaErrorStreamCaptureUnsupported);
  }
  const double earliest = host_now_ + device_["launch_latency_seconds"];
  // The launch itself takes a node's time, as an empty graph shows.
  const cudaError_t error =
      enqueue(*queue, {.name = "graph launch", .hold_seconds = device_["launch_graph_seconds"]});
  if (error != cudaSuccess) return error;
  std::int64_t branches = 0;
  const auto last = add_nodes(*executable->nodes, queue->number, earliest, {queue->last}, branches);
  queue->last = timeline_.add({.name = "graph end", .marker = true}, queue->number, earliest, last);
  return cudaSuccess;
}

cudaError_t Runtime::graph_exec_destroy(cudaGraphExec_t executable) {
  return executables_.erase(executable) == 1 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t Runtime::graph_destroy(cudaGraph_t graph) {
  return graphs_.erase(graph) == 1 ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace gpubench::model
