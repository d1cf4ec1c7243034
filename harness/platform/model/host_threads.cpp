// In the host's virtual time: which thread takes a job, and when it is done, is known when the job
// is queued. What it does takes place at once, where anybody asks for results.
#include "harness/platform/host_threads.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "harness/cuda/thread_spans.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {

struct HostThreads::State {
  struct Job {
    double seconds;
    double end;  // of a job that the caller does: infinite until then
  };
  std::vector<double> idle_from;  // by thread
  std::vector<Job> jobs;
};

HostThreads::HostThreads(unsigned threads) : state_(std::make_unique<State>()) {
  state_->idle_from.resize(threads);
}
HostThreads::~HostThreads() = default;

std::size_t HostThreads::start(std::function<void()> work, double seconds) {
  const model::Runtime& runtime = *model::current_runtime();
  if (runtime.expects_results()) work();
  const auto thread = std::ranges::min_element(state_->idle_from);
  double end = std::numeric_limits<double>::infinity();
  if (thread != state_->idle_from.end()) {
    const double begin = std::max(*thread, runtime.host_seconds());
    *thread = end = begin + seconds;
    const auto number = static_cast<std::size_t>(thread - state_->idle_from.begin());
    ThreadSpans::all().add_thread(number, "job", begin, end);
  }
  state_->jobs.push_back({seconds, end});
  return state_->jobs.size() - 1;
}

void HostThreads::wait(std::size_t job) {
  model::Runtime& runtime = *model::current_runtime();
  State::Job& waited_for = state_->jobs.at(job);
  const double begin = runtime.host_seconds();
  const bool by_caller = state_->idle_from.empty();
  if (by_caller) waited_for.end = std::min(waited_for.end, begin + waited_for.seconds);
  if (waited_for.end <= begin) return;
  runtime.sleep(waited_for.end - begin);
  ThreadSpans::all().add_host(by_caller ? "job" : "wait for a thread", begin, waited_for.end);
}

std::size_t HostThreads::done() const {
  const double now = model::current_runtime()->host_seconds();
  return static_cast<std::size_t>(
      std::ranges::count_if(state_->jobs, [now](const State::Job& job) { return job.end <= now; }));
}

}  // namespace gpubench
