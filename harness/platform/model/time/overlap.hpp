// How well several that take turns at an SM's units overlap.
#pragma once

#include <algorithm>

namespace gpubench::model {

// The time for each of `at_once` that need `in_turn` of all units together and `longest` of the one
// they need the most: that unit never waits but for the first or the last of them (the upper bound
// of balanced jobs in a closed queue: Zahorjan and others, "Balanced Job Bound Analysis", 1982).
inline double overlapped(double in_turn, double longest, double at_once) {
  const double least = std::max(in_turn, longest);
  return (least + (at_once - 1) * longest) / at_once;
}

}  // namespace gpubench::model
