#include "harness/timing/timer.hpp"

#include <cuda_profiler_api.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "harness/cuda/graph.hpp"
#include "harness/evidence/clock_keeper.hpp"
#include "harness/statistics/grouping.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/timing/rests.hpp"
#include "harness/timing/sampler.hpp"

namespace gpubench {
namespace {

// A hot window is long against the events' resolution of half a microsecond, more so for runs
// whose own time is short, and the more where the events are known to tick.
constexpr double hot_window_seconds = 50e-6;
constexpr double hot_window_seconds_of_short_runs = 100e-6;
constexpr double hot_window_seconds_by_ticks = 1e-3;
constexpr double short_run_seconds = 2e-6;
constexpr std::size_t max_batch = 4096;
constexpr std::size_t empty_graph_samples = 11;
constexpr std::size_t operations_besides = 3;  // behind a gate: its own, and a window's two events

constexpr std::size_t max_warmup_queue = 64;     // runs between two looks at the time,
constexpr std::size_t max_watched_queue = 1024;  // and where the SM clock is looked at too
constexpr double watched_queue_seconds = 2e-3;   // that such a queue need not exceed
constexpr double longest_warmup = 10;            // in warm-ups, while the clock rises

// Clocks change: a batch that is longer says less about them.
constexpr double watched_batch_seconds = 10e-3;
constexpr double most_rest = 3;  // in budgets

// What a profiler is to look at.
class ProfiledRange {
 public:
  ProfiledRange() { CUDA_CHECK(cudaProfilerStart()); }
  ~ProfiledRange() { static_cast<void>(cudaProfilerStop()); }
  ProfiledRange(const ProfiledRange&) = delete;
  ProfiledRange& operator=(const ProfiledRange&) = delete;
};

class Timer {
 public:
  Timer(const Body& body, const std::function<void()>& rotate, const TimerSettings& settings)
      : body_(body),
        rotate_(rotate),
        settings_(settings),
        sampler_(settings),
        keeper_(settings.known_clock_hz, settings.most_clock_hz),
        rests_(most_rest * settings.stop.budget_seconds) {}

  Timing run();

 private:
  void decide_gating();
  void warm_up();
  void sample(const Window& window);
  bool take_batch(const Window& window, std::size_t wanted);
  bool at_the_clock(const Batch& batch);
  void rest(double seconds);
  void give_in();
  void forget_samples();
  std::size_t wanted_windows(std::size_t samples) const;
  double resolution() const;
  void conclude();

  Window hot_window(std::size_t batch);
  std::size_t most_in_window() const;
  double take_one(const Window& window);
  void sample_hot();
  void measure_empty_graph();

  const Body& body_;
  const std::function<void()>& rotate_;
  const TimerSettings& settings_;
  Sampler sampler_;
  ClockKeeper keeper_;
  Rests rests_;
  Grouping grouping_{0};
  bool capturable_ = false;     // a graph does all of it
  std::size_t operations_ = 1;  // that one run queues
  double window_seconds_ = 0;   // about; 0: not known
  double budget_from_ = 0;      // by the host's clock
  std::vector<double> clocks_;  // of the batches that were kept
  Timing timing_;
};

Timing Timer::run() {
  rotate_();
  if (settings_.profile) {
    const ProfiledRange range;
    timing_.not_gated_because = "profiling";
    timing_.seconds = sampler_.take({[] {}, body_}, 1).seconds;
    return timing_;
  }
  body_(sampler_.stream());  // the first run: its kernels are loaded now, not behind a gate
  sampler_.stream().synchronize();
  decide_gating();
  warm_up();
  if (sampler_.gated()) timing_.tick_seconds = sampler_.find_tick(keeper_.reference_hz());
  if (settings_.mode == Mode::cold) {
    sample({rotate_, body_, operations_});
  } else {
    sample_hot();
  }
  conclude();
  return timing_;
}

void Timer::decide_gating() {
  if (settings_.blocks_host) {
    sampler_.do_not_gate(settings_.head_start
                             ? "the body may block the host, so other work was queued first"
                             : "the body blocks the host");
    return;
  }
  try {
    const Graph graph(body_);
    operations_ = graph.operation_count();
    capturable_ = graph.is_whole();
  } catch (const CudaError& error) {
    if (!error.is_capture_failure()) throw;
    sampler_.do_not_gate(std::string("the body may block the host: ") + error.what());
    return;
  }
  if (operations_ + operations_besides > max_gated_operations) {
    sampler_.do_not_gate("the body queues " + std::to_string(operations_) +
                         " operations, more than fit in " + std::to_string(max_gated_operations) +
                         " with the gate and two events");
    return;
  }
  sampler_.make_gate();
}

// The queue between two looks grows, so that short runs keep the device busy and one long run is
// not repeated more than needed.
void Timer::warm_up() {
  const Stream& stream = sampler_.stream();
  const bool watches = sampler_.clocks().can_read();
  const double warmup = settings_.warmup_seconds;
  const double began = settings_.now();
  std::size_t queue = 1;
  for (double spent = 0; (spent < warmup && !keeper_.has_fallen()) ||
                         (warmup > 0 && keeper_.still_rises(warmup / 2, longest_warmup * warmup));
       spent = settings_.common(settings_.now() - began)) {
    const double queued_at = settings_.now();
    sampler_.clocks().begin(stream);
    for (std::size_t i = 0; i < queue; ++i) {
      rotate_();
      body_(stream);
    }
    sampler_.clocks().end(stream);
    stream.synchronize();
    const double now = settings_.now();
    if (const auto hz = sampler_.clocks().hz()) keeper_.warm(now, *hz);
    window_seconds_ = (now - queued_at) / static_cast<double>(queue);
    if (!watches) {
      queue = std::min(2 * queue, max_warmup_queue);
    } else if (now - queued_at < watched_queue_seconds) {
      queue = std::min(2 * queue, max_watched_queue);
    }
  }
}

void Timer::forget_samples() {
  timing_.discarded += grouping_.runs();
  timing_.health.clear();
  grouping_.clear();
  clocks_.clear();
}

void Timer::rest(double seconds) {
  settings_.rest(seconds);
  ++timing_.pauses;
  budget_from_ += seconds;  // rest is not paid from the row's budget
}

// None of it helps: what the device does is what is measured.
void Timer::give_in() {
  keeper_.give_in();
  rests_.give_up();
  timing_.held_back = true;
  timing_.off_clock += grouping_.runs();
  forget_samples();
  budget_from_ = settings_.now();
}

// Whether the batch counts. What ran at another clock is taken again, after a rest where that can
// help.
bool Timer::at_the_clock(const Batch& batch) {
  ClockKeeper::Verdict verdict = keeper_.judge(batch.clock_hz);
  const bool invalid = batch.health && batch.health->reasons && invalidates(*batch.health->reasons);
  if (invalid && !keeper_.has_given_in()) verdict = ClockKeeper::Verdict::held;
  if (verdict == ClockKeeper::Verdict::above) {
    timing_.off_clock += grouping_.runs();
    forget_samples();
  }
  const bool at_it =
      verdict == ClockKeeper::Verdict::above || verdict == ClockKeeper::Verdict::at_the_clock;
  if (at_it && !rests_.still_settles(settings_.now(), batch.clock_hz)) return true;
  timing_.off_clock += batch.windows;
  timing_.discarded += batch.windows;
  if (at_it) budget_from_ = settings_.now();  // it settles
  if (verdict == ClockKeeper::Verdict::held) {
    const auto pause =
        rests_.after_being_held(batch.clock_hz.value_or(0), keeper_.reference_hz(), invalid);
    if (pause) {
      rest(*pause);
    } else {
      give_in();
    }
  }
  return false;
}

// Windows for so many more samples, no more than a batch may last where the clock may change.
std::size_t Timer::wanted_windows(std::size_t samples) const {
  const std::size_t windows = samples * std::max<std::size_t>(1, grouping_.group());
  if (!sampler_.clocks().can_read() || window_seconds_ <= 0) return windows;
  const double most = std::max(1.0, std::floor(watched_batch_seconds / window_seconds_));
  return std::min(windows, static_cast<std::size_t>(most));
}

// Adds a batch to the samples; false: it did not count.
bool Timer::take_batch(const Window& window, std::size_t wanted) {
  const Batch batch = sampler_.take(window, wanted);
  if (batch.timed_out) {
    // What is ungated from here on does not compare with what was gated before, and the time-out is
    // not to be paid from the row's budget.
    ++timing_.gate_timeouts;
    timing_.discarded += batch.windows;
    forget_samples();
    budget_from_ = settings_.now();
    return false;
  }
  window_seconds_ = median(batch.seconds);
  if (!at_the_clock(batch)) return false;
  if (batch.clock_hz) clocks_.push_back(*batch.clock_hz);
  if (batch.health) timing_.health.push_back(*batch.health);
  std::vector<double> seconds = batch.seconds;
  for (double& run : seconds) run /= static_cast<double>(timing_.batch);
  grouping_.add(seconds);
  const double lasted = std::accumulate(batch.seconds.begin(), batch.seconds.end(), 0.0);
  if (const auto pause = rests_.to_keep_pace(lasted, batch.clock_hz, keeper_.reference_hz())) {
    rest(*pause);
  }
  return true;
}

void Timer::sample(const Window& window) {
  const StopSettings& stop = settings_.stop;
  const std::vector<double>& samples = grouping_.samples();
  grouping_ = Grouping(timing_.tick_seconds / static_cast<double>(timing_.batch));
  sampler_.dither(timing_.tick_seconds > 0 && settings_.mode == Mode::cold);
  budget_from_ = settings_.now();
  std::size_t next = next_check(0, stop);
  std::size_t confirmed = 0;
  for (;;) {
    if (!take_batch(window, wanted_windows(next - std::min(next - 1, samples.size())))) {
      if (samples.empty()) next = next_check(0, stop);
      confirmed = 0;
      continue;
    }
    if (grouping_.group() == 1) sampler_.dither(false);  // no tick is worth it
    const double spent = settings_.common(settings_.now() - budget_from_);
    const bool out = out_of_budget(samples.size(), spent, stop);
    if (samples.size() < next && !out) continue;
    const Verdict verdict =
        decide(samples, spent, stop,
               {grouping_.device_seconds() * static_cast<double>(timing_.batch), resolution()});
    confirmed = verdict == Verdict::converged ? confirmed + 1 : 0;
    timing_.converged = confirmed >= stop.confirmations;
    if (timing_.converged || out) return;
    next = next_check(samples.size(), stop);
  }
}

// How far a sample may be off either way: by the events' tick, and because not all batches had the
// same clock.
double Timer::resolution() const {
  double off = 0;
  if (!clocks_.empty() && !grouping_.samples().empty()) {
    const double highest = *std::max_element(clocks_.begin(), clocks_.end());
    off = (highest / median(clocks_) - 1) * median(grouping_.samples());
  }
  return grouping_.resolution() + off;
}

void Timer::conclude() {
  timing_.seconds = grouping_.samples();
  timing_.group = std::max<std::size_t>(1, grouping_.group());
  timing_.resolution_seconds = resolution();
  timing_.interval = interval_of(timing_.seconds, settings_.stop, timing_.resolution_seconds);
  timing_.device_seconds = grouping_.device_seconds() * static_cast<double>(timing_.batch);
  timing_.paused_seconds = rests_.taken_seconds();
  timing_.gated = sampler_.gated();
  timing_.not_gated_because = sampler_.not_gated_because();
  if (!clocks_.empty()) timing_.sm_clock_hz = median(clocks_);
  if (keeper_.reference_hz() > 0) timing_.reference_hz = keeper_.reference_hz();
  if (!sampler_.queueing().empty()) timing_.cpu_seconds = median(sampler_.queueing());
}

// A window of `batch` runs: one replay of a graph of them, or a plain loop where the body cannot be
// captured.
Window Timer::hot_window(std::size_t batch) {
  const auto repeat = [this, batch](cudaStream_t stream) {
    for (std::size_t i = 0; i < batch; ++i) body_(stream);
  };
  if (!capturable_) return {[] {}, repeat, batch * operations_};
  const auto graph = std::make_shared<const ExecutableGraph>(repeat);
  graph->launch(sampler_.stream());  // a graph's first launch carries it to the device
  sampler_.stream().synchronize();
  return {[] {}, [graph](cudaStream_t stream) { graph->launch(stream); }, graph->operation_count()};
}

// Runs in a window, at most: behind a gate, no more than may wait there.
std::size_t Timer::most_in_window() const {
  if (!sampler_.gated()) return max_batch;
  const std::size_t fit =
      (max_gated_operations - operations_besides) / std::max<std::size_t>(operations_, 1);
  return std::clamp<std::size_t>(fit, 1, max_batch);
}

// One window, without a gate if the gate times out.
double Timer::take_one(const Window& window) {
  Batch batch = sampler_.take(window, 1);
  if (batch.timed_out) {
    ++timing_.gate_timeouts;
    ++timing_.discarded;
    batch = sampler_.take(window, 1);
  }
  return batch.seconds.front();
}

void Timer::sample_hot() {
  std::size_t batch = 1;
  Window window = hot_window(batch);
  for (;;) {
    const double seconds = take_one(window);
    const double run = seconds / static_cast<double>(batch);
    const double wanted = timing_.tick_seconds > 0  ? hot_window_seconds_by_ticks
                          : run < short_run_seconds ? hot_window_seconds_of_short_runs
                                                    : hot_window_seconds;
    const std::size_t most = most_in_window();
    if (seconds >= wanted || batch >= most) break;
    // A tenth more than needed; a time that was not resolved tells little.
    const double needed = seconds > 0 ? std::ceil(1.1 * wanted / run) : 1.0 * max_batch;
    batch = static_cast<std::size_t>(
        std::clamp(needed, static_cast<double>(batch + 1),
                   std::min(16.0 * static_cast<double>(batch), 1.0 * static_cast<double>(most))));
    window = hot_window(batch);
  }
  timing_.batch = batch;
  window_seconds_ = 0;  // the warm-up's were single runs
  sample(window);
  if (capturable_) measure_empty_graph();
}

void Timer::measure_empty_graph() {
  const ExecutableGraph empty([](cudaStream_t) {});
  empty.launch(sampler_.stream());
  sampler_.stream().synchronize();
  const Window window{[] {}, [&](cudaStream_t stream) { empty.launch(stream); }, 1};
  std::vector<double> seconds = sampler_.take(window, empty_graph_samples).seconds;
  if (seconds.empty()) seconds.push_back(take_one(window));
  timing_.empty_seconds = median(seconds);
}

}  // namespace

Timing time_body(const Body& body, const std::function<void()>& rotate,
                 const TimerSettings& settings) {
  return Timer(body, rotate, settings).run();
}

}  // namespace gpubench
