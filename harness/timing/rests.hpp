// How long a device that is held below its clock is let rest, and when to measure it as it is.
#pragma once

#include <optional>
#include <vector>

#include "harness/evidence/evidence.hpp"

namespace gpubench {

// One row's. Seconds are by any one clock.
class Rests {
 public:
  // `most_seconds`: that all rests may take together, about.
  explicit Rests(double most_seconds) : most_seconds_(most_seconds) {}

  // What ran at `hz` instead of `wanted_hz` (0: nobody knows) is to be measured again after this
  // rest, longer each time. Absent: no rest helps. A load that draws too much for the full clock is
  // as slow after a rest, or nearly so, which three of them show; what the driver calls `invalid`
  // gets all the time there is.
  std::optional<double> after_being_held(double hz, double wanted_hz, bool invalid);
  // What ran at the clock after such a rest: half of it after every batch that lasts as long as a
  // watched one may keep it there. `batch_seconds`: the device's time; `hz` absent: nobody knows.
  std::optional<double> to_keep_pace(double batch_seconds, std::optional<double> hz,
                                     double wanted_hz);

  // No rest has helped: from now on the device may run at whatever clock it gets.
  void give_up();
  // Whether that clock still changes. A power limit takes a tenth of a second to find it (an H100).
  bool still_settles(double now, std::optional<double> hz);

  double taken_seconds() const { return taken_; }  // all rests together

 private:
  double take(double seconds);

  double most_seconds_;
  double taken_ = 0;
  double rest_ = 0;  // the latest
  double held_hz_ = 0;
  int in_vain_ = 0;  // one after the other
  bool settles_ = false;
  std::vector<ClockReading> readings_;
};

}  // namespace gpubench
