#include "harness/statistics/stop_rule.hpp"

#include <algorithm>
#include <limits>

#include "harness/statistics/statistics.hpp"

namespace gpubench {

std::optional<Interval> interval_of(std::span<const double> samples, const StopSettings& settings,
                                    double resolution_seconds) {
  auto interval = settings.serial ? serial_median_interval(samples) : median_interval(samples);
  if (interval) {
    interval->low -= resolution_seconds;
    interval->high += resolution_seconds;
  }
  return interval;
}

Verdict decide(std::span<const double> samples, double spent_seconds, const StopSettings& settings,
               const Measured& measured) {
  if (!samples.empty() && samples.size() >= settings.min_samples &&
      measured.device_seconds >= settings.min_device_seconds) {
    const auto interval = interval_of(samples, settings, measured.resolution_seconds);
    if (interval &&
        (interval->high - interval->low) / 2 < settings.relative_half_width * median(samples)) {
      return Verdict::converged;
    }
  }
  return out_of_budget(samples.size(), spent_seconds, settings) ? Verdict::budget_spent
                                                                : Verdict::more;
}

StopSettings with_a_clock(StopSettings settings) {
  settings.min_device_seconds = 0.05;
  settings.confirmations = 2;
  settings.serial = true;
  return settings;
}

StopSettings without_a_clock(StopSettings settings) {
  settings.budget_seconds = std::numeric_limits<double>::infinity();
  settings.max_samples = 100;
  return settings;
}

StopSettings exactly(std::size_t samples, StopSettings settings) {
  settings.min_samples = settings.max_samples = samples;
  settings.min_device_seconds = 0;
  settings.confirmations = 1;
  settings.counted = true;
  return settings;
}

bool out_of_budget(std::size_t samples, double spent_seconds, const StopSettings& settings) {
  return samples > 0 && (samples >= settings.max_samples ||
                         (!settings.counted && spent_seconds >= settings.budget_seconds));
}

std::size_t next_check(std::size_t samples, const StopSettings& settings) {
  const std::size_t grown = samples + std::max<std::size_t>(1, samples / 5);
  return std::min(std::max(grown, settings.min_samples),
                  std::max(samples + 1, settings.max_samples));
}

}  // namespace gpubench
