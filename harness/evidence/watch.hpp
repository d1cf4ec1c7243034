// A program watched for a while: does it keep its pace, and if not, is it the silicon or the code?
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/evidence/evidence.hpp"

namespace gpubench {

struct Moment {
  double seconds = 0;  // since the watch began
  double rate = 0;     // of the program, in its own unit: FLOP/s, bytes/s, ...
  HealthSample health;
};

enum class Cause {
  unknown,  // too few moments, or nobody tells the clock
  none,     // the pace was kept
  silicon,  // the clock fell, and the pace with it
  code,     // the pace fell at the same clock
  both,     // the pace fell by clearly more than the clock
};

struct Judgement {
  Cause cause = Cause::unknown;
  std::string words;  // one line
};

// Compares the last quarter of the moments with the first, by medians; the very first moment, in
// which a GPU is still waking up, counts nowhere. A pace that fell by more than 2 % has fallen, and
// so has a clock by more than 1 %.
Judgement judge_watch(std::span<const Moment> moments);

}  // namespace gpubench
