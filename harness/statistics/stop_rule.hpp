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
#include <span>

namespace gpubench {

struct StopSettings {
  double relative_half_width = 0.005;  // of the 95 % interval of the median, over the median
  std::size_t min_samples = 10;
  std::size_t max_samples = 10'000;
  double budget_seconds = 0.5;  // of the row, spent in any way: kernels, set-up of a sample, host
};

enum class Verdict {
  more,
  converged,     // half the interval's width is under the settings' fraction of the median
  budget_spent,  // time or samples ran out first: the row says "not converged"
};

// Sorts the samples. Never stops at no samples at all; the budget may stop a row before
// min_samples, convergence may not. A median of 0 never converges: nothing was resolved.
Verdict decide(std::span<const double> samples, double spent_seconds, const StopSettings& settings);

// The same rule for times that do not depend on this machine: no clock, and a hundred samples.
StopSettings without_a_clock(StopSettings settings);

// Whether decide() would not answer `more`, whatever the samples are. Constant time.
bool out_of_budget(std::size_t samples, double spent_seconds, const StopSettings& settings);

// The number of samples at which to decide() next, after having done so at `samples`. It grows by
// a fifth, so that the sorting of all decisions together costs about six times the last one.
std::size_t next_check(std::size_t samples, const StopSettings& settings);

}  // namespace gpubench
