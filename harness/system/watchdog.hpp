#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace gpubench {

// Calls a function of its own thread when a piece of work takes longer than it may, wherever that
// work is stuck: a CUDA call that waits for a kernel without end never comes back to look at a
// clock.
class Watchdog {
 public:
  using Seconds = std::chrono::duration<double>;

  // `overdue` must not return: what it does is the last of this process.
  explicit Watchdog(std::function<void()> overdue) : overdue_(std::move(overdue)) {}
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Work begins that may take `limit`. Time in which the process is stopped (Ctrl-Z) does not
  // count.
  void begin(Seconds limit);
  // It is done. Never returns once `overdue` is called.
  void end();

 private:
  void watch();

  const std::function<void()> overdue_;
  std::mutex mutex_;  // guards what follows, and is held while `overdue` runs
  std::condition_variable changed_;
  std::optional<Seconds> left_;  // of the work that is being done
  bool ending_ = false;
  std::thread thread_;  // started by the first begin()
};

}  // namespace gpubench
