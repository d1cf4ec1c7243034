// The device's time of a piece of queued work, sampled until it is known well enough.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/evidence.hpp"
#include "harness/statistics/stop_rule.hpp"
#include "harness/system/host_clock.hpp"

namespace gpubench {

enum class Mode {
  cold,  // a run at a time, on buffers evicted from cache
  hot,   // a batch of runs at a time on the same buffers, long enough for the events' resolution
};

// Queues one run in the stream it is given, every time in the same way.
using Body = std::function<void(cudaStream_t)>;

struct TimerSettings {
  Mode mode = Mode::cold;
  bool profile = false;      // one run, no warm-up, no gate: for ncu and compute-sanitizer
  bool blocks_host = false;  // the body waits for the device, allocates, or measures launches
  // Without a gate: queued before a sample begins, so that the host is ahead when it does; work
  // that takes at least as long as the sample takes to queue, as far as that is known. Ends by
  // itself.
  std::function<void(cudaStream_t, double least_seconds)> head_start{};
  // One process of several: their common value of what each of them has measured, by which all of
  // them decide alike. Called by all of them, in the same order.
  std::function<double(double)> common = [](double mine) { return mine; };
  StopSettings stop{};
  double warmup_seconds = 0.1;      // 0 for a device that has no clock to warm up
  double gate_timeout_seconds = 2;  // real time, see Gate

  // The host's clock, by which warm-up, budget and pauses are counted, and a rest by it.
  std::function<double()> now = host_clock;
  std::function<void(double)> rest = rest_by_host_clock;
  HealthMonitor* health = nullptr;  // asked while the device works
  double known_clock_hz = 0;        // the highest SM clock at which earlier rows ran
  double most_clock_hz = 0;         // and the highest that the driver names; 0: it does not
};

struct Timing {
  // A run, sample by sample: each a run of its own, the mean of a group of runs where the events'
  // tick is coarse (grouping.hpp), or of a batch in hot mode.
  std::vector<double> seconds;
  std::optional<Interval> interval;  // 95 %, of the median, by the settings' rule
  std::size_t discarded = 0;         // runs that were measured and thrown away
  bool converged = false;
  bool gated = false;
  std::string not_gated_because;  // empty when gated
  std::size_t gate_timeouts = 0;
  std::size_t batch = 1;  // hot: runs in a window
  std::size_t group = 1;  // windows in a sample
  // Hot only: what launching an empty graph takes between the same two events. Not subtracted.
  std::optional<double> empty_seconds;

  // Where the device has a clock of its own (device_clocks.hpp):
  double tick_seconds = 0;             // of the events; 0: none was found
  double resolution_seconds = 0;       // of a sample, either way
  std::optional<double> sm_clock_hz;   // at which the samples ran: the median of their batches
  std::optional<double> reference_hz;  // what they were to run at: the highest that was seen
  std::size_t off_clock = 0;           // of the discarded: for their clock
  std::size_t pauses = 0;              // for a device that was held back
  double paused_seconds = 0;
  bool held_back = false;             // it stayed so, and was measured all the same
  std::vector<HealthSample> health;   // while samples ran that were kept
  double device_seconds = 0;          // of the samples
  std::optional<double> cpu_seconds;  // the host's time to queue a run: the median
};

// Times `body` by events in a stream of its own; work that it queues in other streams is not
// waited for and does not count. Called before each cold run, `rotate` moves on to the next buffers
// and queues nothing.
//
// The body is called once, to run for the first time without a gate; then it may be called while
// the stream is being captured, when nothing runs, to count what it queues: a body that cannot be
// captured may block the host and is not gated. Then comes the warm-up, which lasts until the clock
// no longer rises, then the samples. The budget counts time by the host's clock from there,
// whatever it was spent on, except rest.
// Errors: CudaError, and whatever the body throws.
Timing time_body(const Body& body, const std::function<void()>& rotate,
                 const TimerSettings& settings);

}  // namespace gpubench
