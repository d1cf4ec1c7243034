// What threads of the host did while somebody traced: harness/platform/host_threads.hpp tells it
// here, and those who make a trace fetch it.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "harness/records/row.hpp"
#include "harness/records/tracks.hpp"

namespace gpubench {

class ThreadSpans {
 public:
  // This program's.
  static ThreadSpans& all() {
    static ThreadSpans spans;
    return spans;
  }

  // From now on spans are kept.
  void begin() {
    const std::lock_guard lock(mutex_);
    is_tracing_ = true;
    spans_.clear();
  }
  // `thread` counts from 0; `begin` and `end` by the host's clock [s].
  void add_thread(std::size_t thread, const char* name, double begin, double end) {
    add(thread_track + std::to_string(thread + 1), name, begin, end);
  }
  // On the thread that drives the GPU.
  void add_host(const char* name, double begin, double end) { add(host_track, name, begin, end); }
  // Those kept since begin(), in seconds since `zero` of the host's clock; no more are kept.
  std::vector<TracedOperation> end(double zero) {
    const std::lock_guard lock(mutex_);
    is_tracing_ = false;
    for (TracedOperation& span : spans_) {
      span.begin -= zero;
      span.end -= zero;
    }
    return std::exchange(spans_, {});
  }

 private:
  void add(const std::string& track, const char* name, double begin, double end) {
    const std::lock_guard lock(mutex_);
    if (is_tracing_ && end > begin) spans_.push_back({track, name, "", 0, begin, end});
  }

  std::mutex mutex_;
  bool is_tracing_ = false;
  std::vector<TracedOperation> spans_;
};

}  // namespace gpubench
