// Rows on a device of known truth: our timer as it is, in virtual time, and other rules beside it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/devices/device.hpp"
#include "harness/platform/model/truth/rules.hpp"
#include "harness/timing/timer.hpp"

namespace gpubench::model::truth {

// One row by gpubench's own timer, as the program would take it.
Estimate time_by_gpubench(const DeviceSpec& device, const TimingConditions& conditions,
                          double kernel_seconds, Mode mode = Mode::cold);

// What many rows by one rule came to, each in a process of its own.
struct Score {
  std::string rule;
  double bias = 0;            // of the median row, as a fraction of the truth
  double worst = 0;           // the error that 95 % of the rows stay below, as a fraction
  double coverage = 0;        // how many of the intervals hold the truth
  double half_width = 0;      // of the median interval, as a fraction of the truth
  double device_seconds = 0;  // of the median row
};

// `rows` rows by our rule, then a quarter as many by each of the others; row i is seeded with the
// conditions' seed and i.
std::vector<Score> try_rules(const DeviceSpec& device, const TimingConditions& conditions,
                             double kernel_seconds, std::size_t rows);
Score try_gpubench(const DeviceSpec& device, const TimingConditions& conditions,
                   double kernel_seconds, std::size_t rows, Mode mode = Mode::cold);

}  // namespace gpubench::model::truth
