// Rows that tell a latency: what one step of many takes that wait for each other.
#pragma once

#include <functional>
#include <optional>

#include "harness/bench/bench.hpp"
#include "harness/bench/observed_peak.hpp"

namespace gpubench {

// A row of so many steps, whose law is the latency of one, if it is known, at the device's clock.
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

// Runs twice as many steps: one takes what these take longer than so many.
inline void run_steps(Bench& bench, unsigned steps, const std::function<Body(unsigned)>& body) {
  bench.run(body(2 * steps));
  record_latency(bench, (bench.seconds() - bench.time(body(steps))) / steps);
}

}  // namespace gpubench
