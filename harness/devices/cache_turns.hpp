// What a cache misses of data that come again in turn.
#pragma once

#include <cmath>

namespace gpubench {

// The share that a cache of `capacity` bytes misses of what goes round and round through `bytes`,
// if it replaces at random: what lies in it survives the misses until its next turn, so that m = 1
// - exp(-m bytes / capacity).
inline double missed_in_turn(double bytes, double capacity) {
  if (bytes <= capacity) return 0;
  double share = 1;
  for (int i = 0; i < 50; ++i) share = 1 - std::exp(-share * bytes / capacity);
  return share;
}

}  // namespace gpubench
