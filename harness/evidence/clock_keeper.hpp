// Which clock a row is measured at: the highest that the device settles on under this load. What
// ran at another clock is measured again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "harness/evidence/evidence.hpp"

namespace gpubench {

class ClockKeeper {
 public:
  // `known_hz`: what earlier rows have reached; 0 for none. `most_hz`: the most that the driver
  // names for this device, 0 if it does not: a reading above it, of a clock or a timer that was
  // just set, is nothing to hold others against.
  explicit ClockKeeper(double known_hz, double most_hz = 0);

  // Takes a reading under load, during the warm-up.
  void warm(double seconds, double hz);
  // Whether the clock may still rise; false where nobody can say.
  bool still_rises(double window_seconds, double limit_seconds) const;
  // Whether it is below where this warm-up has been: held back, and load makes it worse.
  bool has_fallen() const;

  enum class Verdict {
    at_the_clock,
    above,   // the device has got faster: what was measured before does not belong to the row
    waking,  // below it and rising: more load helps
    held,    // below it: rest helps
  };
  // Judges samples that ran at `hz` on average; absent: nobody knows, so nothing is said
  // against them.
  Verdict judge(std::optional<double> hz);
  // The device does not get back to it: from now on what it does is what is measured.
  void give_in() { given_in_ = true; }
  bool has_given_in() const { return given_in_; }

  double reference_hz() const { return reference_hz_; }  // 0: not known

 private:
  double within_reach(double hz) const { return most_hz_ > 0 ? std::min(hz, most_hz_) : hz; }

  double most_hz_;
  double reference_hz_;
  double last_hz_ = 0;
  bool given_in_ = false;
  std::vector<ClockReading> readings_;
};

}  // namespace gpubench
