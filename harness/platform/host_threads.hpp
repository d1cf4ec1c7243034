// Threads of the host that work beside the one that drives the GPU, as the producers of a data
// loader do. (Defined in gpu/host_threads.cpp with threads of the system, and in
// model/host_threads.cpp in virtual time.)
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace gpubench {

class HostThreads {
 public:
  // With 0 threads, the caller does each job when it waits for it.
  explicit HostThreads(unsigned threads);
  ~HostThreads();
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  // Queues a job for the next thread that is idle: it calls `work` and is done `seconds` after it
  // began, or later if the work takes longer. (The model's takes exactly so long.) Jobs are
  // numbered from 0.
  std::size_t start(std::function<void()> work, double seconds);
  // The caller waits until this job is done.
  void wait(std::size_t job);
  // Jobs that are done by now.
  std::size_t done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpubench
