// How others decide when they have measured enough, written anew from what they publish, on a
// device under conditions. The kernel's own time is all that they are charged for.
//
//   nvbench  NVIDIA/nvbench at 66212f1 (August 2026): nvbench/detail/measure_cold.cu and
//            stdrel_criterion.cxx, entropy_criterion.cxx; its defaults: 0.5 s and 0.5 % for stdrel,
//            0.048 degrees and R^2 of 0.36 for entropy, 10 samples at least, 15 s at most, samples
//            below 75 % of the clock thrown away after a rest of 50 ms or more.
//   Triton   triton-lang/triton, python/triton/testing.py: do_bench, 25 ms of warm-up and 100 ms of
//            repetitions by the estimate of five runs; the mean.
//   mean     What a first program does: a run to warm up, and the mean of a hundred.
//
// None of them states an interval. Theirs is taken to be the mean and 1.96 standard errors, as
// their mean, noise and number of samples suggest.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/conditions/pace.hpp"

namespace gpubench::model::truth {

struct Estimate {
  double seconds = 0;
  double low = 0, high = 0;   // 95 %
  double device_seconds = 0;  // that the device worked for it
};

// Measures a kernel of `kernel_seconds` from an idle device on.
using Rule = std::function<Estimate(Pace& pace, double reference_hz, double kernel_seconds)>;

std::vector<std::pair<std::string, Rule>> published_rules();

}  // namespace gpubench::model::truth
