// The clock at which a row ran, which is known at its end, and the peak of a unit by it.
#pragma once

#include <memory>
#include <string>

#include "harness/bench/bench.hpp"

namespace gpubench {

// The clock at which the row ran; the device file's if that was not observed [Hz].
inline double clock_of(const Bench& bench) {
  const auto seen = bench.row().counters.find("sm_clock_hz");
  return seen != bench.row().counters.end() ? seen->second : bench.device()["sm_clock_hz"];
}

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
  void observe(const Bench& bench) const { *clock = clock_of(bench); }
};

}  // namespace gpubench
