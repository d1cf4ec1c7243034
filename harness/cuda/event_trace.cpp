#include "harness/cuda/event_trace.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "harness/cuda/event.hpp"
#include "harness/cuda/listener.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/cuda/thread_spans.hpp"
#include "harness/records/tracks.hpp"

namespace gpubench {
namespace {

class EventTracer final : public CallListener {
 public:
  explicit EventTracer(const std::function<double()>& host_seconds) : host_seconds_(host_seconds) {
    CUDA_CHECK(cudaGetDevice(&device_));
    CUDA_CHECK(cudaDeviceSynchronize());
    begin_ = host_seconds_();
    ThreadSpans::all().begin();
    const Stream stream;
    first_.record(stream);
    stream.synchronize();
    call_listener = this;
  }
  ~EventTracer() override { call_listener = nullptr; }

  void before(const CudaCall& call) override {
    Call& noted = calls_.emplace_back();
    noted.call = call;
    const Silence silence;
    if (call.queues && is_traceable(call.stream)) {
      noted.begin = std::make_unique<Event>();
      noted.begin->record(call.stream);
    }
    noted.host_begin = host_seconds_();
  }
  void after(const CudaCall& call) override {
    Call& noted = calls_.back();
    noted.host_end = host_seconds_();
    const Silence silence;
    if (noted.begin != nullptr) {
      noted.end = std::make_unique<Event>();
      noted.end->record(call.stream);
    }
  }

  std::vector<TracedOperation> operations(
      const std::function<std::string(const void*)>& kernel_name) {
    const Silence silence;
    CUDA_CHECK(cudaDeviceSynchronize());
    struct Span {
      double begin, end;
    };
    std::vector<Span> spans(calls_.size());
    double offset = 0;  // of the device's clock, whose zero is the first event
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i].end == nullptr) continue;
      spans[i] = {seconds_between(first_, *calls_[i].begin),
                  seconds_between(first_, *calls_[i].end)};
      offset = std::max(offset, calls_[i].host_begin - begin_ - spans[i].begin);
    }
    std::vector<TracedOperation> operations = ThreadSpans::all().end(begin_);
    for (const Call& c : calls_) {
      operations.push_back(
          {host_track, c.call.name, "", 0, c.host_begin - begin_, c.host_end - begin_});
    }
    std::map<cudaStream_t, std::string> streams{{nullptr, legacy_track}};
    std::vector<TracedOperation> by_engine;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Call& c = calls_[i];
      if (c.end == nullptr) continue;
      streams.try_emplace(c.call.stream, "stream " + std::to_string(streams.size()));
      const std::string& stream = streams.at(c.call.stream);
      const std::string name = c.call.kernel != nullptr ? kernel_name(c.call.kernel) : c.call.name;
      const auto bytes = static_cast<double>(c.call.bytes);
      const double begin = offset + spans[i].begin, end = offset + spans[i].end;
      operations.push_back({stream, name, "", bytes, begin, end});
      if (*c.call.engine != '\0') {
        by_engine.push_back({c.call.engine, name, stream, bytes, begin, end});
      }
    }
    operations.insert(operations.end(), by_engine.begin(), by_engine.end());
    return operations;
  }

 private:
  struct Call {
    CudaCall call;
    double host_begin = 0, host_end = 0;
    std::unique_ptr<Event> begin, end;  // in the stream; none: nothing is queued, or not seen
  };
  // The tracer's own calls are nobody's business.
  class Silence {
   public:
    Silence() : listener_(std::exchange(call_listener, nullptr)) {}
    ~Silence() { call_listener = listener_; }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

   private:
    CallListener* listener_;
  };

  // Whether events can be recorded in the stream: not while it is captured, nor on another device.
  bool is_traceable(cudaStream_t stream) const {
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    auto status = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream, &status);
    if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
    return device == device_ && error == cudaSuccess && status == cudaStreamCaptureStatusNone;
  }

  const std::function<double()>& host_seconds_;
  int device_ = 0;
  double begin_ = 0;
  Event first_;
  std::vector<Call> calls_;
};

const char* engine_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return to_device_track;
    case cudaMemcpyDeviceToHost:
      return to_host_track;
    case cudaMemcpyDeviceToDevice:
      return compute_track;
    default:
      return "";
  }
}

}  // namespace

std::vector<TracedOperation> trace_by_events(
    const std::function<void()>& run, const std::function<double()>& host_seconds,
    const std::function<std::string(const void*)>& kernel_name) {
  EventTracer tracer(host_seconds);
  run();
  return tracer.operations(kernel_name);
}

}  // namespace gpubench

// The linker sends the program's calls here (--wrap).
extern "C" {

#define GPUBENCH_ANNOUNCED(function, parameters, arguments, ...) \
  cudaError_t __real_##function parameters;                      \
  cudaError_t __wrap_##function parameters {                     \
    gpubench::AnnouncedCall announced({#function, __VA_ARGS__}); \
    return announced.returned(__real_##function arguments);      \
  }
GPUBENCH_ANNOUNCED(cudaMemcpy, (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind),
                   (to, from, bytes, kind), nullptr, true, nullptr, bytes,
                   gpubench::engine_of(kind), to, from)
GPUBENCH_ANNOUNCED(cudaMemcpyAsync,
                   (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                    cudaStream_t stream),
                   (to, from, bytes, kind, stream), stream, true, nullptr, bytes,
                   gpubench::engine_of(kind), to, from)
GPUBENCH_ANNOUNCED(cudaMemset, (void* device, int byte, std::size_t bytes), (device, byte, bytes),
                   nullptr, true, nullptr, bytes, gpubench::compute_track)
GPUBENCH_ANNOUNCED(cudaMemsetAsync,
                   (void* device, int byte, std::size_t bytes, cudaStream_t stream),
                   (device, byte, bytes, stream), stream, true, nullptr, bytes,
                   gpubench::compute_track)
GPUBENCH_ANNOUNCED(cudaGraphLaunch, (cudaGraphExec_t graph, cudaStream_t stream), (graph, stream),
                   stream, true)
GPUBENCH_ANNOUNCED(cudaStreamSynchronize, (cudaStream_t stream), (stream), stream)
GPUBENCH_ANNOUNCED(cudaStreamWaitEvent,
                   (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
                   (stream, event, flags), stream)
GPUBENCH_ANNOUNCED(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream),
                   stream)
GPUBENCH_ANNOUNCED(cudaEventSynchronize, (cudaEvent_t event), (event))
GPUBENCH_ANNOUNCED(cudaDeviceSynchronize, (), ())
GPUBENCH_ANNOUNCED(cudaMalloc, (void** device, std::size_t bytes), (device, bytes))
GPUBENCH_ANNOUNCED(cudaFree, (void* device), (device))
#undef GPUBENCH_ANNOUNCED

}  // extern "C"
