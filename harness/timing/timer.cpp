#include "harness/timing/timer.hpp"

#include <cuda_profiler_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "harness/cuda/event.hpp"
#include "harness/cuda/graph.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/timing/gate.hpp"

namespace gpubench {
namespace {

// A hot window is long against the events' resolution of half a microsecond, more so for runs
// whose own time is short.
constexpr double hot_window_seconds = 50e-6;
constexpr double hot_window_seconds_of_short_runs = 100e-6;
constexpr double short_run_seconds = 2e-6;
constexpr std::size_t max_batch = 4096;
constexpr std::size_t max_warmup_queue = 64;  // runs between two looks at the clock
constexpr std::size_t events_per_sample = 2;
constexpr std::size_t empty_graph_samples = 11;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What a profiler is to look at.
class ProfiledRange {
 public:
  ProfiledRange() { CUDA_CHECK(cudaProfilerStart()); }
  ~ProfiledRange() { static_cast<void>(cudaProfilerStop()); }
  ProfiledRange(const ProfiledRange&) = delete;
  ProfiledRange& operator=(const ProfiledRange&) = delete;
};

// What lies between a sample's two events, and how many operations that queues.
struct Window {
  std::function<void()> prepare;  // before the first event
  Body queue;
  std::size_t operations = 1;
};

class Timer {
 public:
  Timer(const Body& body, const std::function<void()>& rotate, const TimerSettings& settings)
      : body_(body), rotate_(rotate), settings_(settings) {}

  Timing run() {
    rotate_();
    if (settings_.profile) {
      const ProfiledRange range;
      timing_.not_gated_because = "profiling";
      timing_.seconds = take({[] {}, body_}, 1);
      return timing_;
    }
    body_(stream_);  // the first run: its kernels are loaded now, which must not wait at a gate
    stream_.synchronize();
    decide_gating();
    warm_up();
    if (settings_.mode == Mode::cold) {
      sample({rotate_, body_, operations_});
    } else {
      sample_hot();
    }
    timing_.gated = timing_.not_gated_because.empty();
    return timing_;
  }

 private:
  void decide_gating() {
    if (settings_.blocks_host) {
      do_not_gate(settings_.head_start
                      ? "the body may block the host; other work gave it a head start"
                      : "the body blocks the host");
      return;
    }
    try {
      operations_ = Graph(body_).node_count();
      capturable_ = true;
    } catch (const CudaError& error) {
      if (!error.is_capture_failure()) throw;
      do_not_gate(std::string("the body may block the host: ") + error.what());
      return;
    }
    if (operations_ + events_per_sample + 1 > max_gated_operations) {
      do_not_gate("the body queues " + std::to_string(operations_) +
                  " operations, more than fit in " + std::to_string(max_gated_operations) +
                  " with the gate and two events");
      return;
    }
    gate_.emplace(std::chrono::duration<double>(settings_.gate_timeout_seconds));
    if (!gate_->available()) do_not_gate("the device has nothing to make a gate of");
  }

  void do_not_gate(std::string reason) {
    gate_.reset();
    timing_.not_gated_because = std::move(reason);
  }

  // The queue between two looks grows, so that short runs keep the device busy and one long run is
  // not repeated more than needed.
  void warm_up() {
    const Stopwatch watch;
    std::size_t queue = 1;
    while (settings_.common(watch.seconds()) < settings_.warmup_seconds) {
      for (std::size_t i = 0; i < queue; ++i) {
        rotate_();
        body_(stream_);
      }
      stream_.synchronize();
      queue = std::min(2 * queue, max_warmup_queue);
    }
  }

  // Takes up to `wanted` samples [s] behind one gate, or one without. None: the gate timed out, and
  // there is no gate any more.
  std::vector<double> take(const Window& window, std::size_t wanted) {
    if (gate_) {
      const std::size_t fit = (max_gated_operations - 1) / (window.operations + events_per_sample);
      wanted = std::min(wanted, std::max<std::size_t>(fit, 1));
    } else {
      wanted = 1;  // a queue of samples would hide the latency of some and not of others
    }
    while (events_.size() < events_per_sample * wanted) events_.emplace_back();
    if (gate_) gate_->close(stream_);
    for (std::size_t i = 0; i < wanted; ++i) {
      if (!gate_ && settings_.head_start && !settings_.profile) settings_.head_start(stream_);
      window.prepare();
      events_[2 * i].record(stream_);
      window.queue(stream_);
      events_[2 * i + 1].record(stream_);
    }
    const bool valid = !gate_ || gate_->open();
    stream_.synchronize();
    if (!valid) {
      timing_.discarded += wanted;
      do_not_gate(gate_->timeout_message());
      return {};
    }
    std::vector<double> seconds;
    for (std::size_t i = 0; i < wanted; ++i) {
      seconds.push_back(settings_.common(seconds_between(events_[2 * i], events_[2 * i + 1])));
    }
    return seconds;
  }

  // Some samples, without a gate if the gate times out.
  std::vector<double> take_some(const Window& window, std::size_t wanted) {
    std::vector<double> seconds = take(window, wanted);
    return seconds.empty() ? take(window, wanted) : seconds;
  }

  void sample(const Window& window) {
    const StopSettings& stop = settings_.stop;
    Stopwatch spent;
    std::vector<double>& samples = timing_.seconds;
    std::size_t next = next_check(0, stop);
    for (;;) {
      const std::vector<double> taken = take(window, next - samples.size());
      if (taken.empty()) {
        // What is ungated from here on does not compare with what was gated before, and the
        // time-out is not to be paid from the row's budget.
        timing_.discarded += samples.size();
        samples.clear();
        next = next_check(0, stop);
        spent = Stopwatch();
        continue;
      }
      for (const double seconds : taken) {
        samples.push_back(seconds / static_cast<double>(timing_.batch));
      }
      const double so_far = settings_.common(spent.seconds());
      if (samples.size() < next && !out_of_budget(samples.size(), so_far, stop)) continue;
      const Verdict verdict = decide(samples, so_far, stop);
      timing_.converged = verdict == Verdict::converged;
      if (verdict != Verdict::more) return;
      next = next_check(samples.size(), stop);
    }
  }

  // A window of `batch` runs: one replay of a graph of them, or a plain loop where the body cannot
  // be captured.
  Window hot_window(std::size_t batch) {
    const auto repeat = [this, batch](cudaStream_t stream) {
      for (std::size_t i = 0; i < batch; ++i) body_(stream);
    };
    if (!capturable_) return {[] {}, repeat, batch * operations_};
    const auto graph = std::make_shared<const ExecutableGraph>(repeat);
    graph->launch(stream_);  // a graph's first launch carries it to the device
    stream_.synchronize();
    return {[] {}, [graph](cudaStream_t stream) { graph->launch(stream); }, 1};
  }

  void sample_hot() {
    std::size_t batch = 1;
    Window window = hot_window(batch);
    for (;;) {
      const double seconds = take_some(window, 1).front();
      const double run = seconds / static_cast<double>(batch);
      const double wanted =
          run < short_run_seconds ? hot_window_seconds_of_short_runs : hot_window_seconds;
      if (seconds >= wanted || batch == max_batch) break;
      // A tenth more than needed; a time that was not resolved tells little.
      const double needed = seconds > 0 ? std::ceil(1.1 * wanted / run) : 1.0 * max_batch;
      batch = static_cast<std::size_t>(
          std::clamp(needed, static_cast<double>(batch + 1),
                     std::min(16.0 * static_cast<double>(batch), 1.0 * max_batch)));
      window = hot_window(batch);
    }
    timing_.batch = batch;
    sample(window);
    if (capturable_) measure_empty_graph();
  }

  void measure_empty_graph() {
    const ExecutableGraph empty([](cudaStream_t) {});
    empty.launch(stream_);
    stream_.synchronize();
    std::vector<double> seconds = take_some(
        {[] {}, [&](cudaStream_t stream) { empty.launch(stream); }, 1}, empty_graph_samples);
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    timing_.empty_seconds = *middle;
  }

  const Body& body_;
  const std::function<void()>& rotate_;
  const TimerSettings& settings_;
  const Stream stream_;
  std::vector<Event> events_;
  std::optional<Gate> gate_;    // none: not gated
  bool capturable_ = false;     // known not to block the host
  std::size_t operations_ = 1;  // that one run queues
  Timing timing_;
};

}  // namespace

Timing time_body(const Body& body, const std::function<void()>& rotate,
                 const TimerSettings& settings) {
  return Timer(body, rotate, settings).run();
}

}  // namespace gpubench
