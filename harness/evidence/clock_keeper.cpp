#include "harness/evidence/clock_keeper.hpp"

#include <algorithm>
#include <span>

namespace gpubench {
namespace {

constexpr double tolerance = 0.01;  // of the reference
constexpr double rising = 0.002;    // from one reading to the next

}  // namespace

ClockKeeper::ClockKeeper(double known_hz, double most_hz)
    : most_hz_(most_hz), reference_hz_(within_reach(known_hz)) {}

void ClockKeeper::warm(double seconds, double hz) {
  readings_.push_back({seconds, hz});
  reference_hz_ = std::max(reference_hz_, within_reach(hz));
  last_hz_ = hz;
}

bool ClockKeeper::has_fallen() const {
  return std::any_of(readings_.begin(), readings_.end(), [&](const ClockReading& reading) {
    return last_hz_ < (1 - tolerance) * reading.hz;
  });
}

bool ClockKeeper::still_rises(double window_seconds, double limit_seconds) const {
  if (readings_.empty() || has_fallen()) return false;
  RampSettings settings;
  settings.window_seconds = window_seconds;
  settings.limit_seconds = limit_seconds;
  return clock_ramp(readings_, settings) == ClockRamp::rising;
}

ClockKeeper::Verdict ClockKeeper::judge(std::optional<double> hz) {
  if (given_in_ || !hz || reference_hz_ == 0) return Verdict::at_the_clock;
  const bool rises = *hz > (1 + rising) * last_hz_;
  last_hz_ = *hz;
  if (within_reach(*hz) > (1 + tolerance) * reference_hz_) {
    reference_hz_ = within_reach(*hz);
    return Verdict::above;
  }
  if (*hz >= (1 - tolerance) * reference_hz_) return Verdict::at_the_clock;
  return rises ? Verdict::waking : Verdict::held;
}

}  // namespace gpubench
