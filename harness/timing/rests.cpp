#include "harness/timing/rests.hpp"

#include <algorithm>

namespace gpubench {
namespace {

constexpr double first_rest = 0.02, longest_rest = 0.32;
constexpr int most_in_vain = 3;
constexpr double long_batch_seconds = 5e-3;
constexpr double dip = 0.001;  // of the clock: too little to throw a batch away
constexpr RampSettings settling{.window_seconds = 0.1, .tolerance = 0.01, .limit_seconds = 0.4};

}  // namespace

double Rests::take(double seconds) {
  taken_ += seconds;
  return seconds;
}

std::optional<double> Rests::after_being_held(double hz, double wanted_hz, bool invalid) {
  const bool in_vain = rest_ > 0 && !invalid && hz > 0 && 2 * hz < held_hz_ + wanted_hz;
  in_vain_ = in_vain ? in_vain_ + 1 : 0;
  held_hz_ = hz;
  if (in_vain_ >= most_in_vain || taken_ >= most_seconds_) return std::nullopt;
  rest_ = std::clamp(2 * rest_, first_rest, longest_rest);
  return take(rest_);
}

std::optional<double> Rests::to_keep_pace(double batch_seconds, std::optional<double> hz,
                                          double wanted_hz) {
  in_vain_ = 0;
  if (rest_ == 0 || taken_ >= most_seconds_) return std::nullopt;
  if (batch_seconds < long_batch_seconds) {
    rest_ = rest_ > first_rest ? rest_ / 2 : 0;
    return std::nullopt;
  }
  if (hz && *hz < (1 - dip) * wanted_hz) rest_ = std::min(2 * rest_, longest_rest);
  return take(rest_ / 2);
}

void Rests::give_up() {
  rest_ = 0;
  settles_ = true;
}

bool Rests::still_settles(double now, std::optional<double> hz) {
  if (!settles_) return false;
  if (hz) readings_.push_back({now, *hz});
  settles_ = hz && clock_ramp(readings_, settling) == ClockRamp::rising;
  return settles_;
}

}  // namespace gpubench
