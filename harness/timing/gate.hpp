// A gate in a stream: work is queued behind it and runs once it opens, so that no launch latency
// lies between what is measured.
//
// The stream waits for a word in mapped host memory (cuStreamWaitValue32); where the driver cannot,
// a kernel spins on the word. The host opens the gate with a plain store: a write from a second
// stream could wait for ever behind the very stream that it is to release, as streams share
// hardware queues. If the host blocks while the gate is closed, on work that waits behind it,
// nobody would ever open it: a watchdog thread does so after a time-out. What was measured then is
// worthless.
//
// Hence never gated: the first run of any kernel (lazy loading waits for the device), more than
// max_gated_operations in the queue (a full queue blocks the host), a body that may block the host
// (synchronisation, pageable copies, allocation), and profiling (tools serialise kernels).
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/stream.hpp"

namespace gpubench {

// Everything that is queued between close() and open(), the gate's own operation included.
inline constexpr std::size_t max_gated_operations = 512;

class Gate {
 public:
  // Finds out what the device has, which runs a gate once. `timeout`: how long a gate stays closed
  // before the watchdog opens it.
  explicit Gate(std::chrono::duration<double> timeout);
  ~Gate();  // opens it
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Whether this device has any kind of gate; the two below need it.
  bool available() const { return kind_ != Kind::none; }

  // What is queued in `stream` from now on waits.
  void close(cudaStream_t stream);
  // Lets it go. False: the watchdog did so before, and times of what was queued say nothing.
  [[nodiscard]] bool open();

  // The line that says what a time-out means and what is never to be gated.
  std::string timeout_message() const;

 private:
  enum class Kind { none, memory_operation, spin_kernel };
  using WaitValue = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t,
                                 unsigned);  // cuStreamWaitValue32

  Kind probe();
  void queue_wait(cudaStream_t stream);
  void store();
  void watch();

  const std::chrono::duration<double> timeout_;
  const PinnedBuffer<std::uint32_t> word_;
  const std::uint32_t* const device_word_;
  WaitValue wait_value_ = nullptr;
  std::uint32_t ticket_ = 0;  // the gate is open once the word has reached it
  Kind kind_ = Kind::none;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool closed_ = false;
  bool timed_out_ = false;
  bool ending_ = false;
  std::chrono::steady_clock::time_point deadline_;
  std::thread watchdog_;
};

}  // namespace gpubench
