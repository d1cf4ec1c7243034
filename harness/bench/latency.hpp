// Rows that measure a latency: the time of one step in a chain of dependent steps.
#pragma once

#include <functional>
#include <optional>

#include "harness/bench/bench.hpp"
#include "harness/bench/observed_peak.hpp"

namespace gpubench {

// A row of `steps` steps. Its law is the known latency of one, if any, at the device's clock.
inline void judge_by_latency(Bench& bench, double steps, std::optional<double> cycles,
                             double tolerance = 0.05) {
  Law law;
  const auto clock = bench.device().find("sm_clock_hz");
  if (cycles && clock) law = law_at(*cycles / *clock);
  bench.work({.items = steps,
              .law = law,
              .law_tolerance = tolerance,
              .headline = Headline{"latency_seconds", "s", true},
              .bound = "latency"});
}

inline void record_latency(Bench& bench, double seconds) {
  bench.counter("latency_seconds", seconds);
  bench.counter("latency_cycles", seconds * clock_of(bench));
}

// Times 2 x steps, and steps: their difference is the time of `steps` of them, without the launch.
inline void run_steps(Bench& bench, unsigned steps, const std::function<Body(unsigned)>& body) {
  bench.run(body(2 * steps));
  record_latency(bench, (bench.seconds() - bench.time(body(steps))) / steps);
}

}  // namespace gpubench
