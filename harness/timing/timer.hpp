// The device's time of a piece of queued work, sampled until it is known well enough.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/statistics/stop_rule.hpp"

namespace gpubench {

enum class Mode {
  cold,  // a sample is one run, on buffers that the caches have forgotten
  hot,   // a sample is a batch of runs on the same buffers, long enough for the events' resolution
};

// Queues one run in the stream it is given, every time in the same way.
using Body = std::function<void(cudaStream_t)>;

struct TimerSettings {
  Mode mode = Mode::cold;
  bool profile = false;      // one run, no warm-up, no gate: for ncu and compute-sanitizer
  bool blocks_host = false;  // the body waits for the device, allocates, or measures launches
  // Without a gate: queued before a sample begins, so that the host is ahead when it does. Ends by
  // itself.
  Body head_start{};
  // One process of several: their common value of what each of them has measured, by which all of
  // them decide alike. Called by all of them, in the same order.
  std::function<double(double)> common = [](double mine) { return mine; };
  StopSettings stop{};
  double warmup_seconds = 0.1;      // real time; 0 for a device that has no clock to warm up
  double gate_timeout_seconds = 2;  // real time, see Gate
};

struct Timing {
  std::vector<double> seconds;  // a run, sample by sample
  std::size_t discarded = 0;    // samples that were taken and thrown away
  bool converged = false;
  bool gated = false;
  std::string not_gated_because;  // empty when gated
  std::size_t batch = 1;          // runs in a sample's window
  // Hot only: what launching an empty graph takes between the same two events. Not subtracted.
  std::optional<double> empty_seconds;
};

// Times `body` by events in a stream of its own; work that it queues in other streams is not
// waited for and does not count. Called before each cold run, `rotate` moves on to the next buffers
// and queues nothing.
//
// The body is called once, to run for the first time without a gate; then it may be called while
// the stream is being captured, when nothing runs, to count what it queues: a body that cannot be
// captured may block the host and is not gated. Then comes the warm-up, then the samples. The
// budget counts real time from there, whatever it was spent on.
// Errors: CudaError, and whatever the body throws.
Timing time_body(const Body& body, const std::function<void()>& rotate,
                 const TimerSettings& settings);

}  // namespace gpubench
