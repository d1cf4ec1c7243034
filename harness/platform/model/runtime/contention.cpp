#include "harness/platform/model/runtime/contention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gpubench::model {

bool Contention::share_device(const Claim& a, const Claim& b) {
  return std::ranges::any_of(a.devices, [&](int device) {
    return std::ranges::find(b.devices, device) != b.devices.end();
  });
}

double Contention::end_of(const Running& one) const {
  const double from = std::max(now_, one.granted);
  return from + one.left / (one.rate > 0 ? one.rate : 1);
}

// SMs come free when blocks that run there end. With a product's blocks on all SMs, that is at the
// end of its wave; a collective starts when its last block does.
double Contention::granted_at(const Claim& claim, double start) const {
  double granted = start;
  for (const Running& other : running_) {
    if (claim.sms == 0 || other.claim.wave_seconds == 0 || !share_device(claim, other.claim)) {
      continue;
    }
    const double wave = other.claim.wave_seconds / (other.rate > 0 ? other.rate : 1);
    const double waves = std::floor((start - other.start) / wave) + 1;
    granted = std::max(granted, std::min(other.start + waves * wave, end_of(other)));
  }
  return granted;
}

void Contention::begin(OperationPtr operation, const Claim& claim, double start, double seconds) {
  pass(start);
  const double granted = granted_at(claim, start);
  running_.push_back({std::move(operation), claim, start, granted, seconds});
  set_rates();
}

Contention::Change Contention::next() const {
  Change next{std::numeric_limits<double>::infinity(), nullptr};
  for (const Running& one : running_) {
    const bool waits = !one.takes_part(now_);
    const double time = waits ? one.granted : end_of(one);
    if (time < next.time) next = {time, waits ? nullptr : one.operation};
  }
  return next;
}

void Contention::make(const Change& change) {
  pass(change.time);
  std::erase_if(running_, [&](const Running& one) { return one.operation == change.operation; });
  set_rates();
}

void Contention::pass(double until) {
  for (Running& one : running_) one.left = std::max(0.0, one.left - (until - now_) * one.rate);
  now_ = until;
}

double Contention::most_on_a_device(const Claim& claim,
                                    const std::function<double(const Running&)>& of) const {
  double most = 0;
  for (const int device : claim.devices) {
    double here = 0;
    for (const Running& one : running_) {
      const auto& on = one.claim.devices;
      if (std::ranges::find(on, device) != on.end()) here += of(one);
    }
    most = std::max(most, here);
  }
  return most;
}

void Contention::set_rates() {
  for (Running& one : running_) {
    one.rate = one.takes_part(now_) ? 1 : 0;
    if (!one.claim.slowdown) continue;
    const double taken = most_on_a_device(one.claim, [this](const Running& other) {
      return other.takes_part(now_) ? other.claim.sms : 0;
    });
    if (taken > 0) one.rate /= one.claim.slowdown(std::max(0.0, 1 - taken));
  }
  // If memory is asked for more than it has, everybody gets the same part of what they ask for.
  std::vector<double> asked;
  for (const Running& one : running_) {
    asked.push_back(most_on_a_device(
        one.claim, [](const Running& other) { return other.claim.memory * other.rate; }));
  }
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (running_[i].claim.memory > 0 && asked[i] > 1) running_[i].rate /= asked[i];
  }
}

}  // namespace gpubench::model
