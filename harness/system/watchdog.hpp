#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace gpubench {

// Calls a function of its own thread when a piece of work takes more than it may, wherever that
// work is stuck: a CUDA call that waits for a kernel without end never comes back to look at a
// clock.
class Watchdog {
 public:
  using Seconds = std::chrono::duration<double>;

  enum class Over { time, memory };

  // `overdue` must not return: what it does is the last of this process.
  explicit Watchdog(std::function<void(Over)> overdue) : overdue_(std::move(overdue)) {}
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // The work lasts as long as this lives, also where it throws. The destructor never returns once
  // `overdue` is called.
  class Guard {
   public:
    explicit Guard(Watchdog& watchdog) : watchdog_(watchdog) {}
    ~Guard() { watchdog_.end(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Watchdog& watchdog_;
  };

  // Work begins that may take so long, and with which the process may occupy `bytes` of the host's
  // memory, if only for a moment; 0: as much as it likes. Time in which the process is stopped
  // (Ctrl-Z) does not count.
  [[nodiscard]] Guard guard(Seconds limit, double bytes);

 private:
  void end();
  void watch();

  const std::function<void(Over)> overdue_;
  std::mutex mutex_;  // guards what follows, and is held while `overdue` runs
  std::condition_variable changed_;
  std::optional<Seconds> left_;  // of the work that is being done
  double most_bytes_ = 0;
  std::size_t peak_before_ = 0;  // [bytes], of the process when the work began
  bool ending_ = false;
  std::thread thread_;  // started by the first guard()
};

}  // namespace gpubench
