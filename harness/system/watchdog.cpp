#include "harness/system/watchdog.hpp"

#include <algorithm>

#include "harness/system/host_memory.hpp"
#include "harness/system/running_time.hpp"

namespace gpubench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Watchdog::Seconds look{0.25};  // between two looks at the clock
constexpr Watchdog::Seconds for_ever{1e9};

}  // namespace

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Watchdog::Guard Watchdog::guard(Seconds limit, double bytes) {
  if (limit.count() <= 0 && bytes <= 0) return Guard(*this);
  {
    const std::lock_guard lock(mutex_);
    left_ = limit.count() > 0 ? limit : for_ever;
    most_bytes_ = bytes;
    peak_before_ = peak_resident_bytes();
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  changed_.notify_one();
  return Guard(*this);
}

// Short work ends before anybody has looked, and what takes memory may have given it back. A peak
// that is no higher than before may be that of earlier work.
void Watchdog::end() {
  const std::lock_guard lock(mutex_);
  if (left_ && most_bytes_ > 0) {
    const std::size_t peak = peak_resident_bytes();
    const std::size_t taken = peak > peak_before_ ? peak : resident_bytes();
    if (static_cast<double>(taken) > most_bytes_) overdue_(Over::memory);
  }
  left_.reset();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!left_) {
      changed_.wait(lock);
      continue;
    }
    const auto before = Clock::now();
    changed_.wait_for(lock, std::min(look, *left_));
    if (!left_) continue;
    *left_ -= running_time(Clock::now() - before, look);
    if (left_->count() <= 0) overdue_(Over::time);
    if (most_bytes_ > 0 && static_cast<double>(resident_bytes()) > most_bytes_) {
      overdue_(Over::memory);
    }
  }
}

}  // namespace gpubench
