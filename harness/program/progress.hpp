#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace gpubench {

// Draws "12 of 80  coalescing  0:31, about 2:40 left" over itself, on a terminal only.
class Progress {
 public:
  explicit Progress(std::size_t total);
  void starts(const std::string& topic);
  // A row that was done before this process began.
  void passes() { ++passed_; }
  void clear() const;
  // Since the first row was about to start.
  double seconds() const;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::size_t done_ = 0, passed_ = 0, total_;
  bool on_;
};

}  // namespace gpubench
