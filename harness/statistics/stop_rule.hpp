// When a row has been measured enough.
//
//   std::size_t next = next_check(0, settings);
//   for (;;) {
//     take a sample;
//     if (samples.size() < next && !out_of_budget(samples.size(), spent, settings)) continue;
//     if (decide(samples, spent, settings) != Verdict::more) break;
//     next = next_check(samples.size(), settings);
//   }
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/statistics/statistics.hpp"

namespace gpubench {

struct StopSettings {
  double relative_half_width = 0.005;  // of the 95 % interval of the median, over the median
  std::size_t min_samples = 10;
  std::size_t max_samples = 10'000;
  double budget_seconds = 0.5;  // of the row, spent in any way: kernels, set-up of a sample, host
  // A device whose time varies: not before so much of it has been measured,
  double min_device_seconds = 0;
  // and not before so many decisions in a row, each after new samples, have come to the same end.
  std::size_t confirmations = 1;
  bool serial = false;   // neighbouring samples may be alike: serial_median_interval()
  bool counted = false;  // max_samples are taken, whatever time that needs
};

// What the samples alone do not say.
struct Measured {
  double device_seconds = 0;
  // A sample's, either way: the events' tick, over as many runs as it is spread over.
  double resolution_seconds = 0;
};

// The 95 % interval of the median by the settings' rule, wider by the resolution on both sides:
// equal samples are no certainty where the clock that told them has a tick.
std::optional<Interval> interval_of(std::span<const double> samples, const StopSettings& settings,
                                    double resolution_seconds);

enum class Verdict {
  more,
  converged,     // half the interval's width is under the settings' fraction of the median
  budget_spent,  // time or samples ran out first: the row says "not converged"
};

// Sorts the samples. Never stops at no samples at all; the budget may stop a row before
// min_samples, convergence may not. A median of 0 never converges: nothing was resolved.
Verdict decide(std::span<const double> samples, double spent_seconds, const StopSettings& settings,
               const Measured& measured = {});

// The rule for a device whose time varies from run to run, from one moment to the next, and by
// ticks.
StopSettings with_a_clock(StopSettings settings);

// The same rule for times that do not depend on this machine: no clock, and a hundred samples.
StopSettings without_a_clock(StopSettings settings);

// So many samples, no more and no fewer: with_a_clock() and without_a_clock() come first.
StopSettings exactly(std::size_t samples, StopSettings settings);

// Whether decide() would not answer `more`, whatever the samples are. Constant time.
bool out_of_budget(std::size_t samples, double spent_seconds, const StopSettings& settings);

// The number of samples at which to decide() next, after having done so at `samples`. It grows by
// a fifth, so that the sorting of all decisions together costs about six times the last one.
std::size_t next_check(std::size_t samples, const StopSettings& settings);

}  // namespace gpubench
