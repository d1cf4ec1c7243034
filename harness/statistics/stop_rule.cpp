#include "harness/statistics/stop_rule.hpp"

#include <algorithm>
#include <limits>

#include "harness/statistics/statistics.hpp"

namespace gpubench {

Verdict decide(std::span<const double> samples, double spent_seconds,
               const StopSettings& settings) {
  if (!samples.empty() && samples.size() >= settings.min_samples) {
    const Summary summary = summarize(samples);
    if (summary.ci_low &&
        (*summary.ci_high - *summary.ci_low) / 2 < settings.relative_half_width * summary.median) {
      return Verdict::converged;
    }
  }
  return out_of_budget(samples.size(), spent_seconds, settings) ? Verdict::budget_spent
                                                                : Verdict::more;
}

StopSettings without_a_clock(StopSettings settings) {
  settings.budget_seconds = std::numeric_limits<double>::infinity();
  settings.max_samples = 100;
  return settings;
}

bool out_of_budget(std::size_t samples, double spent_seconds, const StopSettings& settings) {
  return samples > 0 &&
         (samples >= settings.max_samples || spent_seconds >= settings.budget_seconds);
}

std::size_t next_check(std::size_t samples, const StopSettings& settings) {
  const std::size_t grown = samples + std::max<std::size_t>(1, samples / 5);
  return std::min(std::max(grown, settings.min_samples),
                  std::max(samples + 1, settings.max_samples));
}

}  // namespace gpubench
