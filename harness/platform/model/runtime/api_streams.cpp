// The API's functions for streams, events and graphs.
#include <cuda_runtime.h>

#include "harness/platform/model/runtime/api.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

using gpubench::model::call;
using gpubench::model::Runtime;

// --- streams and events ---

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return call(__func__, [&](Runtime& r) { return r.stream_create(stream, cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return call(__func__, [&](Runtime& r) { return r.stream_create(stream, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return call(__func__, [&](Runtime& r) { return r.stream_create(stream, flags, priority); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(__func__, [&](Runtime& r) { return r.priority_range(least, greatest); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call(__func__, [&](Runtime& r) { return r.stream_destroy(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call(__func__, [&](Runtime& r) { return r.stream_synchronize(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call(__func__, [&](Runtime& r) { return r.stream_query(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return call(__func__, [&](Runtime& r) {
    return flags == 0 ? r.stream_wait_event(stream, event) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return call(__func__, [&](Runtime& r) { return r.event_create(event, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return call(__func__, [&](Runtime& r) { return r.event_create(event, flags); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call(__func__, [&](Runtime& r) { return r.event_record(event, stream); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call(__func__, [&](Runtime& r) { return r.event_synchronize(event); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call(__func__, [&](Runtime& r) { return r.event_query(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call(__func__, [&](Runtime& r) { return r.event_elapsed(milliseconds, start, end); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call(__func__, [&](Runtime& r) { return r.event_destroy(event); });
}

// --- capture and graphs ---

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call(__func__, [&](Runtime& r) { return r.begin_capture(stream, mode); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call(__func__, [&](Runtime& r) { return r.end_capture(stream, graph); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call(__func__, [&](Runtime& r) { return r.is_capturing(stream, status); });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return call(__func__, [&](Runtime& r) { return r.graph_nodes(graph, nodes, count); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  return call(__func__, [&](Runtime& r) {
    return flags == 0 ? r.graph_instantiate(executable, graph) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return call(__func__, [&](Runtime& r) { return r.graph_launch(executable, stream); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return call(__func__, [&](Runtime& r) { return r.graph_exec_destroy(executable); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call(__func__, [&](Runtime& r) { return r.graph_destroy(graph); });
}
