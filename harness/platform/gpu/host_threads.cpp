#include "harness/platform/host_threads.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "harness/cuda/thread_spans.hpp"
#include "harness/system/host_clock.hpp"

namespace gpubench {
namespace {

// When it began and when it ended, by that clock.
std::pair<double, double> carry_out(const std::function<void()>& work, double seconds) {
  const double begin = host_clock();
  work();
  while (host_clock() < begin + seconds) {
  }
  return {begin, host_clock()};
}

}  // namespace

struct HostThreads::State {
  struct Job {
    std::function<void()> work;
    double seconds = 0;
    bool done = false;
  };

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;  // whose elements stay where they are
  std::size_t next = 0;  // that nobody has begun
  std::size_t done = 0;
  bool ends = false;
  std::vector<std::thread> threads;

  void work(std::size_t thread) {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ends || next < jobs.size(); });
      if (ends) return;
      Job& job = jobs[next++];
      lock.unlock();
      const auto [begin, end] = carry_out(job.work, job.seconds);
      ThreadSpans::all().add_thread(thread, "job", begin, end);
      lock.lock();
      job.done = true;
      ++done;
      changed.notify_all();
    }
  }
};

HostThreads::HostThreads(unsigned threads) : state_(std::make_unique<State>()) {
  for (unsigned t = 0; t < threads; ++t) {
    state_->threads.emplace_back([state = state_.get(), t] { state->work(t); });
  }
}

HostThreads::~HostThreads() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ends = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

std::size_t HostThreads::start(std::function<void()> work, double seconds) {
  const std::lock_guard lock(state_->mutex);
  state_->jobs.push_back({std::move(work), seconds});
  state_->changed.notify_all();
  return state_->jobs.size() - 1;
}

void HostThreads::wait(std::size_t job) {
  std::unique_lock lock(state_->mutex);
  State::Job& waited_for = state_->jobs.at(job);
  if (waited_for.done) return;
  if (state_->threads.empty()) {
    const auto [begin, end] = carry_out(waited_for.work, waited_for.seconds);
    ThreadSpans::all().add_host("job", begin, end);
    waited_for.done = true;
    ++state_->done;
    return;
  }
  const double begin = host_clock();
  state_->changed.wait(lock, [&] { return waited_for.done; });
  ThreadSpans::all().add_host("wait for a thread", begin, host_clock());
}

std::size_t HostThreads::done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

}  // namespace gpubench
