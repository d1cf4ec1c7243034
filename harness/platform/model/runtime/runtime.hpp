// The model device's CUDA runtime: streams, events, copies, graphs and launches in virtual time.
//
// Three clocks matter. The host's clock advances with every call by what such a call costs on the
// modelled system. The device follows: an operation takes effect in the order and at the virtual
// time at which the device would carry it out (timeline.hpp). Real time matters only where a call
// blocks on something that no queued operation will ever do, such as a gate that nobody opens: then
// the calling thread really waits, another host thread may open it, and after a bound the call
// fails and says what it waited for.
//
// What a kernel costs is the executor's answer, used as it is: whatever even an empty kernel takes
// between two events is part of it. What the timeline adds is what lies around kernels: the host's
// time to issue, the latency to the device, and the spacing of launches in a stream or graph.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/devices/device.hpp"
#include "harness/evidence/evidence.hpp"
#include "harness/platform/device_clocks.hpp"
#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/conditions/pace.hpp"
#include "harness/platform/model/include/cuda.h"
#include "harness/platform/model/include/cuda_runtime.h"
#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/memory/memory.hpp"
#include "harness/platform/model/runtime/device_fault.hpp"
#include "harness/platform/model/runtime/timeline.hpp"
#include "harness/platform/model/runtime/virtual_memory.hpp"

struct CUgraphNode_st {
  gpubench::model::Work work;
  std::vector<std::size_t> after;  // indices of nodes
};

namespace gpubench::model {

using Nodes = std::deque<CUgraphNode_st>;

// A capture that is under way.
struct Capture {
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool blocking_stream = false;  // one that takes part is ordered with the legacy default stream
  bool invalidated = false;
  Nodes nodes;
};

}  // namespace gpubench::model

struct CUstream_st {
  int number = 0;
  int device = 0;
  bool legacy = false;  // the default stream of its device
  int priority = 0;
  bool blocking = true;  // ordered with the legacy default stream
  gpubench::model::OperationPtr last;
  std::shared_ptr<gpubench::model::Capture> capture;  // while it takes part in one
  std::vector<std::size_t> captured;                  // the nodes that its next one comes after
};

struct CUevent_st {
  int device = 0;
  bool timed = true, blocks = false;  // blocks: the host sleeps while it waits for it
  gpubench::model::OperationPtr recorded;
  std::shared_ptr<gpubench::model::Capture> capture;  // recorded while its stream was captured
  std::vector<std::size_t> captured;
};

struct CUgraph_st {
  std::shared_ptr<const gpubench::model::Nodes> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<const gpubench::model::Nodes> nodes;
};

namespace gpubench::model {

// What the compiler knows of a kernel.
struct KernelResources {
  unsigned registers = 0;  // a thread; 0: not known
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes = 0;  // a thread: arrays that are indexed, and spilled registers
};

struct RuntimeOptions {
  // GPUs that cudaSetDevice takes, all alike. The first `node_devices` share this host, and are
  // those that cudaGetDeviceCount counts; as many each share further hosts, on a network. The host
  // of another node works at the same time as this one: what it issues costs this one nothing.
  int devices = 1;
  int node_devices = 1;
  // How long, in real time, a call may wait for something that nothing queued will do.
  std::chrono::milliseconds deadlock_after{10000};
  // Whether the driver has cuStreamWaitValue32 and cuStreamWriteValue32.
  bool stream_memory_operations = true;
  // As under CUDA's lazy loading, the first launch of a kernel waits until the device is idle.
  bool lazy_loading = false;
  // Within CUDA's rules, and less kind than the runtime is by itself. Default: none.
  Conditions conditions{};
  // Where the one line goes that an error code cannot carry. Default: standard error.
  std::function<void(const std::string&)> diagnostic{};
  // The kernel at an address. Default: nothing is known, and neither limits occupancy.
  std::function<KernelResources(const void* function)> kernel_resources{};
};

// What the model prices as a whole, without a kernel of ours: a library's call.
struct PricedOperation {
  std::string name;
  std::string bound;                                  // the largest of its terms
  std::vector<std::pair<std::string, double>> terms;  // [s]
  double seconds = 0;
  bool computed = false;  // its results are there
  std::string roof{};     // that binds it, if that is not called as `bound` is
};

// Defined by subject: runtime.cpp has what surrounds every call, and how the host queues and waits;
// the calls themselves stand in runtime_device, _memory, _streams, _graphs and _kernels.cpp.
class Runtime {
 public:
  // `memory` and `executor` must outlive the runtime.
  Runtime(DeviceSpec device, DeviceMemory& memory, KernelExecutor& executor,
          RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // --- for those who look at the model ---
  const DeviceSpec& device() const { return device_; }
  DeviceMemory& memory() { return memory_; }
  double host_seconds() const;          // the host's virtual clock
  std::vector<Record> records() const;  // what the device did so far, in order of start
  // The calls that took the host time, in order; the newest, Timeline::max_records at most.
  std::vector<HostRecord> host_records() const;
  void clear_records();
  // Time begins anew, so that no rounding of what follows depends on what came before. Not where
  // something is queued for ever, or somebody still has an event.
  void restart_clock();
  std::string last_diagnostic() const;  // the line of the latest fault or deadlock, or ""
  std::string take_diagnostic();        // the same, and it is forgotten
  std::string endless_kernel() const;   // that was seen to run for ever (planted), or ""
  // Whether a kernel may access [address, address + bytes) in the host's memory: it was allocated
  // with cudaMallocHost or cudaHostAlloc. Safe to call from an executor.
  bool is_mapped_host(const void* address, std::size_t bytes) const;

  // --- under timing conditions ---
  const std::optional<Pace>& pace() const { return pace_; }
  // What the driver says of the device now; nothing without timing conditions. Takes host time.
  HealthSample health();
  void sleep(double seconds);  // of the host
  cudaError_t read_clocks(ClockStamp* stamps, unsigned sms, cudaStream_t stream);
  cudaError_t wait_cycles(std::uint64_t cycles, cudaStream_t stream);

  // Whether operations are to have results, from now on, or only a duration. Forgets those noted.
  void expect_results(bool results);
  bool expects_results() const { return results_; }  // for those who carry operations out
  void note_operation(PricedOperation operation);    // likewise; only while results are expected
  std::vector<PricedOperation> operations() const;
  // Whether anything but kernels has moved bytes since expect_results(), as far as is known.
  bool has_moved_bytes() const;
  void report(const std::string& line);  // for a library whose error code cannot say it

  // Makes the `nth` call of `function` from now on (1: the next) return `error` and do nothing.
  void fail_call(const std::string& function, std::size_t nth, cudaError_t error);
  // Asked before every call, what it is to fail with; cudaSuccess: not at all. `function`: as CUDA
  // has it. `caller`: the code that it returns to, if that is known.
  using CallFilter = std::function<cudaError_t(const char* function, const void* caller)>;
  void filter_calls(CallFilter filter);
  // For a library's calls, of which the runtime sees nothing.
  cudaError_t refusal(const char* function, const void* caller);

  // --- the calls, as CUDA documents them ---
  // Every API function runs inside this: it locks, injects faults, refuses everything after a
  // fault of the device, and remembers the error for cudaGetLastError.
  template <class F>
  cudaError_t call(const char* function, F&& body, const void* caller = nullptr) {
    const std::lock_guard lock(mutex_);
    const double start = host_now_;
    pay(options_.conditions.ordering.host_call_seconds);
    const cudaError_t refused = begin_call(function, caller);
    const cudaError_t error = refused == cudaSuccess ? guarded(body) : refused;
    remember(function, start);
    return finish_call(error);
  }
  cudaError_t take_last_error();
  cudaError_t peek_last_error();

  int device_count() const { return std::min(options_.devices, options_.node_devices); }
  cudaError_t set_device(int device);
  int current_device() const;  // of the calling thread
  cudaError_t memory_info(std::size_t* free, std::size_t* total) const;
  cudaError_t can_access_peer(int* can, int device, int peer) const;
  cudaError_t peer_attribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer) const;
  cudaError_t enable_peer_access(int peer);
  bool may_access(int device, int peer) const;  // as enabled
  // NVLink connects the GPUs of a node with each other, in the device files of those that have it.
  bool same_node(int a, int b) const {
    return a / options_.node_devices == b / options_.node_devices;
  }
  cudaError_t attribute(int* value, cudaDeviceAttr attribute, int device) const;
  cudaError_t properties(cudaDeviceProp* properties, int device) const;
  cudaError_t device_synchronize();

  cudaError_t malloc_device(void** device, std::size_t bytes);
  cudaError_t free_device(void* device);
  cudaError_t malloc_host(void** host, std::size_t bytes);
  cudaError_t host_device_pointer(void** device, void* host);
  cudaError_t free_host(void* host);
  cudaError_t host_register(void* host, std::size_t bytes);
  cudaError_t host_unregister(void* host);
  cudaError_t malloc_managed(void** managed, std::size_t bytes);
  cudaError_t prefetch(const void* managed, std::size_t bytes, cudaMemLocation location,
                       cudaStream_t stream);
  cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                   cudaStream_t stream, bool asynchronous);
  cudaError_t set(void* to, int byte, std::size_t bytes, cudaStream_t stream, bool asynchronous);

  cudaError_t priority_range(int* least, int* greatest) const;
  cudaError_t stream_create(cudaStream_t* stream, unsigned int flags, int priority);
  cudaError_t stream_destroy(cudaStream_t stream);
  cudaError_t stream_synchronize(cudaStream_t stream);
  cudaError_t stream_query(cudaStream_t stream);
  cudaError_t stream_wait_event(cudaStream_t stream, cudaEvent_t event);
  cudaError_t event_create(cudaEvent_t* event, unsigned int flags);
  cudaError_t event_record(cudaEvent_t event, cudaStream_t stream);
  cudaError_t event_synchronize(cudaEvent_t event);
  cudaError_t event_query(cudaEvent_t event);
  cudaError_t event_elapsed(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
  cudaError_t event_destroy(cudaEvent_t event);

  cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode);
  cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph);
  cudaError_t is_capturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
  cudaError_t graph_nodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
  cudaError_t graph_instantiate(cudaGraphExec_t* executable, cudaGraph_t graph);
  cudaError_t graph_launch(cudaGraphExec_t executable, cudaStream_t stream);
  cudaError_t graph_exec_destroy(cudaGraphExec_t executable);
  cudaError_t graph_destroy(cudaGraph_t graph);

  cudaError_t wait_value(cudaStream_t stream, CUdeviceptr address, cuuint32_t value,
                         unsigned int flags);
  cudaError_t write_value(cudaStream_t stream, CUdeviceptr address, cuuint32_t value);
  bool stream_memory_operations() const { return options_.stream_memory_operations; }
  VirtualMemory& virtual_memory() { return virtual_memory_; }  // inside a call()

  cudaError_t launch(KernelLaunch launch, cudaStream_t stream);
  // One operation of several streams: begins when all have come to it, ends for all at once.
  cudaError_t together(const std::vector<cudaStream_t>& streams, Work work);
  // What a library runs in a kernel of its own: `work` says how long, and takes the whole device.
  cudaError_t queue_operation(Work work, cudaStream_t stream);
  cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function);
  cudaError_t set_max_dynamic_shared(const void* function, int bytes);
  cudaError_t allow_large_clusters(const void* function, bool allowed);
  unsigned max_cluster(const void* function) const;  // blocks of one; 0: it has none
  cudaError_t occupancy_blocks(int* blocks, const void* function, int block_threads,
                               std::size_t dynamic_shared_bytes);

 private:
  struct InjectedFault {
    std::size_t calls_left;
    cudaError_t error;
  };

  cudaError_t begin_call(const char* function, const void* caller);
  cudaError_t planted_error(const char* function, const void* caller);
  cudaError_t finish_call(cudaError_t error);
  void remember(const char* function, double start);
  void catch_up();
  cudaError_t guarded(const std::function<cudaError_t()>& body);
  void say(const std::string& line);
  cudaError_t fail_for_good(cudaError_t error, const std::string& line);

  // nullptr: not a live stream. The null handle is the legacy default stream; the calling thread's
  // own default stream is made when it is first asked for.
  CUstream_st* find(cudaStream_t stream);
  void pay(double seconds) { host_now_ += pace_ ? pace_->host_seconds(seconds) : seconds; }
  void pay_to_issue(const CUstream_st& stream) {
    if (stream.device < options_.node_devices) pay(device_["launch_host_seconds"]);
  }
  bool is_device(int device) const { return device >= 0 && device < options_.devices; }
  // Queues `work` in the stream, or adds it to the capture that the stream takes part in.
  cudaError_t enqueue(CUstream_st& stream, Work work, const OperationPtr& also_after = nullptr);
  // Refuses and invalidates: for calls that a capture in progress does not permit.
  cudaError_t refuse_while_capturing();
  cudaError_t invalidate(Capture& capture, cudaError_t error);
  std::vector<OperationPtr> last_of(const CUstream_st& stream) const;
  std::vector<OperationPtr> add_nodes(const Nodes& nodes, int stream, double earliest,
                                      const std::vector<OperationPtr>& after,
                                      std::int64_t& branches);
  int hardware_queue(const CUstream_st& stream) const;
  // Whether it is this launch of `kernel`, of which `launches` matched so far.
  static bool is_planted(const std::optional<PlantedLaunch>& planted, const std::string& kernel,
                         std::size_t& launches);

  // Block the host. `promised`: CUDA says that such a call waits, so that what comes after it is
  // ordered; others wait here, and may not on a device.
  cudaError_t wait_for(const std::vector<OperationPtr>& operations, bool promised = true);
  // The same but for the host's way out of the call, which depends on how it waits.
  cudaError_t wait_for_end(const std::vector<OperationPtr>& operations, bool promised = true);
  cudaError_t wait_until_idle(bool promised = false);
  void learn(const std::vector<OperationPtr>& ended);
  cudaError_t block_until(const std::function<bool()>& done);
  bool has_ended(const OperationPtr& operation) const;

  bool is_device_range(const void* address, std::size_t bytes) const;
  std::optional<cudaMemcpyKind> direction(const void* to, const void* from, std::size_t bytes,
                                          cudaMemcpyKind kind) const;
  // What a copy does, by where its ends lie.
  Work copy_on_host(void* to, const void* from, std::size_t bytes) const;
  Work copy_over_link(void* to, const void* from, std::size_t bytes, bool to_device, bool pinned);
  Work copy_on_devices(void* to, const void* from, std::size_t bytes);
  void stage(Work& work, void* to, const void* from, std::size_t bytes);
  std::uint32_t read_word(const void* address) const;
  KernelResources resources(const void* function) const;
  unsigned blocks_per_sm(const void* function, unsigned threads, std::size_t dynamic_bytes) const;
  // What launching this kernel queues, of which `resident` blocks fit on an SM.
  Work kernel_work(KernelLaunch launch, const CUstream_st& queue, unsigned resident);
  std::size_t max_dynamic_shared(const void* function) const;

  const DeviceSpec device_;
  DeviceMemory& memory_;
  KernelExecutor& executor_;
  const RuntimeOptions options_;
  VirtualMemory virtual_memory_;

  mutable std::mutex mutex_;             // guards everything below but the host allocations
  std::condition_variable_any changed_;  // somebody called: what was waited for may have come
  Timeline timeline_;
  std::optional<Pace> pace_;  // under timing conditions
  double host_now_ = 0;
  std::vector<CUstream_st> legacy_;  // by device
  std::map<std::thread::id, int> current_device_;
  std::set<std::pair<int, int>> peers_;  // (device, whose memory it may access)
  int streams_created_ = 0;
  std::map<cudaStream_t, std::unique_ptr<CUstream_st>> streams_;
  // By thread and device; each is one of streams_.
  std::map<std::pair<std::thread::id, int>, cudaStream_t> per_thread_;
  std::map<cudaEvent_t, std::unique_ptr<CUevent_st>> events_;
  std::map<cudaGraph_t, std::unique_ptr<CUgraph_st>> graphs_;
  std::map<cudaGraphExec_t, std::unique_ptr<CUgraphExec_st>> executables_;
  std::set<std::shared_ptr<Capture>> captures_;
  std::map<std::pair<const void*, double>, double> utilisation_;  // by kernel and blocks
  std::set<const void*> loaded_;                                  // kernels that ran before
  std::map<const void*, std::size_t> dynamic_shared_;  // limits set by cudaFuncSetAttribute
  std::set<const void*> large_clusters_;               // kernels that it let have them
  std::map<std::string, InjectedFault> injected_;
  CallFilter filter_;
  std::size_t planted_calls_ = 0;           // so far, of those that the conditions speak of
  bool lacks_memory_ = false;               // of the host, for a kernel that was to be carried out
  cudaError_t sticky_error_ = cudaSuccess;  // the device has faulted: nothing works any more
  std::map<std::thread::id, cudaError_t> last_error_;
  std::map<CUdeviceptr, InOrder> written_;  // by word: the last write by a stream memory operation
  std::string last_diagnostic_;
  std::optional<int> hardware_queues_;  // none: one for each stream
  std::size_t launches_for_hang_ = 0, launches_for_fault_ = 0;
  bool results_ = true;
  bool has_moved_bytes_ = false;  // otherwise than by kernels, since results were expected
  std::vector<PricedOperation> operations_;
  std::deque<HostRecord> host_records_;

  mutable std::mutex host_mutex_;
  struct HostAllocation {
    std::unique_ptr<std::byte, void (*)(void*)> begin;
    std::size_t bytes;
    enum class Kind { pinned, registered, managed } kind = Kind::pinned;
    mutable std::vector<bool> on_device{};  // of managed memory, by page: where it lies now
  };
  cudaError_t allocate_host(void** host, std::size_t bytes, HostAllocation::Kind kind);
  bool release_host(void* host, HostAllocation::Kind kind);
  const HostAllocation* host_allocation(const void* address, std::size_t bytes) const;
  std::map<const std::byte*, HostAllocation> host_allocations_;
};

// What CUDA_DEVICE_MAX_CONNECTIONS asks for.
int wanted_connections();

// Makes `runtime` the one that the API's functions talk to, and hands back the one before. With
// none, every call returns cudaErrorNoDevice. Not to be called while other threads are in a call.
std::unique_ptr<Runtime> install_runtime(std::unique_ptr<Runtime> runtime);
Runtime* current_runtime();

}  // namespace gpubench::model
