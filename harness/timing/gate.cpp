#include "harness/timing/gate.hpp"

#include <atomic>
#include <sstream>

#include "harness/cuda/check.hpp"
#include "harness/platform/spin_gate.hpp"

namespace gpubench {
namespace {

// The version in which these operations got their present form is 11.7.
constexpr unsigned entry_point_version = 12000;

void* entry_point(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status{};
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, entry_point_version,
                                                             cudaEnableDefault, &status);
  if (error != cudaSuccess) {  // a driver that is older than the version
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  return status == cudaDriverEntryPointSuccess ? function : nullptr;
}

// Values agree between the driver's and the runtime's errors.
void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  throw CudaError(static_cast<cudaError_t>(result), call, "gate");
}

}  // namespace

Gate::Gate(std::chrono::duration<double> timeout)
    : timeout_(timeout), word_(1), device_word_(word_.device_data()) {
  word_[0] = 0;
  kind_ = probe();
  if (available()) watchdog_ = std::thread([this] { watch(); });
}

Gate::~Gate() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (watchdog_.joinable()) watchdog_.join();
  store();
}

// CUDA 13 has no attribute that says whether a device can wait for 32-bit values: the call itself
// answers "not supported". So an open gate is tried.
Gate::Kind Gate::probe() {
  const Stream stream;
  wait_value_ = reinterpret_cast<WaitValue>(entry_point("cuStreamWaitValue32"));
  if (wait_value_ != nullptr) {
    const CUresult wait = wait_value_(stream, reinterpret_cast<CUdeviceptr>(device_word_), ticket_,
                                      CU_STREAM_WAIT_VALUE_GEQ);
    stream.synchronize();
    if (wait == CUDA_SUCCESS) return Kind::memory_operation;
    if (wait != CUDA_ERROR_NOT_SUPPORTED) check(wait, "cuStreamWaitValue32");
  }
  // Also the spin kernel's own first run, which must not happen behind a gate.
  const cudaError_t spin = launch_spin_gate(device_word_, ticket_, timeout_.count(), stream);
  if (spin == cudaErrorNotSupported) {
    static_cast<void>(cudaGetLastError());
    return Kind::none;
  }
  CUDA_CHECK(spin);
  stream.synchronize();
  return Kind::spin_kernel;
}

void Gate::queue_wait(cudaStream_t stream) {
  if (kind_ == Kind::memory_operation) {
    check(wait_value_(stream, reinterpret_cast<CUdeviceptr>(device_word_), ticket_,
                      CU_STREAM_WAIT_VALUE_GEQ),
          "cuStreamWaitValue32");
  } else {
    // Its own limit only matters if the watchdog could not run.
    CUDA_CHECK(launch_spin_gate(device_word_, ticket_, 2 * timeout_.count(), stream));
  }
}

void Gate::close(cudaStream_t stream) {
  {
    const std::lock_guard lock(mutex_);
    ++ticket_;
    closed_ = true;
    timed_out_ = false;
    deadline_ = std::chrono::steady_clock::now() +
                std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout_);
  }
  changed_.notify_one();
  queue_wait(stream);
}

bool Gate::open() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    if (timed_out_) return false;
  }
  changed_.notify_one();
  store();
  return true;
}

void Gate::store() {
  std::atomic_ref<std::uint32_t>(word_[0]).store(ticket_, std::memory_order_release);
}

void Gate::watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!closed_) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() < deadline_) {
      changed_.wait_until(lock, deadline_);
    } else {
      closed_ = false;
      timed_out_ = true;
      store();
    }
  }
}

std::string Gate::timeout_message() const {
  std::ostringstream line;
  line << "the gate was still closed after " << timeout_.count()
       << " s, so the host waited for work that was queued behind it; never gated are the first "
          "run of a kernel, more than "
       << max_gated_operations
       << " queued operations, a body that may block the host (synchronisation, pageable copies, "
          "allocation: declare blocks_host), and profiling";
  return line.str();
}

}  // namespace gpubench
