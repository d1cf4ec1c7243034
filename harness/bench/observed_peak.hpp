// The peak of a unit by the device's figures and the clock at which the row ran, which is known at
// the row's end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "harness/bench/bench.hpp"

namespace gpubench {

struct ObservedPeak {
  std::shared_ptr<double> clock = std::make_shared<double>(0);
  double rate = 0, sms = 0;

  // `figure`: operations per clock and SM, of which the row can reach `fraction`. `of` gives the
  // device's rate from these, the number of SMs and the clock.
  ObservedPeak(const Bench& bench, const std::string& figure, double fraction)
      : rate(fraction * bench.device()[figure]), sms(bench.device()["sm_count"]) {
    *clock = bench.device()["sm_clock_hz"];
  }
  Law law(double (*of)(double, double, double)) const {
    return [*this, of](const Roofs&) { return of(rate, sms, *clock); };
  }
  void observe(const Bench& bench) const {
    const auto& counters = bench.row().counters;
    if (const auto seen = counters.find("sm_clock_hz"); seen != counters.end()) {
      *clock = seen->second;
    }
  }
};

}  // namespace gpubench
