#include "harness/evidence/energy.hpp"

namespace gpubench {
namespace {

constexpr double counter_unit_joules = 1e-3;

}  // namespace

void EnergyMeter::read(double asked, double answered, std::optional<double> joules) {
  if (has_ended()) return;
  if (!began_) began_ = asked;
  if (!joules) {
    why_none_ = "the driver refused to read its energy counter";
  } else if (last_ && *joules < last_->joules) {
    why_none_ = "the energy counter went backwards";
  } else {
    if (last_ && *joules > last_->joules && last_->asked - *began_ >= settings_.lead_seconds) {
      take({(last_->asked + answered) / 2, (answered - last_->asked) / 2, *joules});
    }
    last_ = {asked, *joules};
    if (!span_ && answered - *began_ > settings_.limit_seconds) {
      why_none_ = has_begun() ? "the energy counter's steps do not bound the error"
                              : "the energy counter stands still";
    }
  }
}

void EnergyMeter::take(const Step& step) {
  if (!first_) {
    first_ = step;
    return;
  }
  ++steps_;
  const double seconds = step.seconds - first_->seconds;
  const double joules = step.joules - first_->joules;
  const double error =
      (first_->either_way + step.either_way) / seconds + counter_unit_joules / joules;
  if (seconds >= settings_.least_seconds && steps_ >= settings_.least_steps &&
      error <= settings_.most_error) {
    span_ = {joules, seconds, error};
  }
}

}  // namespace gpubench
