// A memory that is nearly busy, as laws speak of it.
#pragma once

#include <cmath>

namespace busy_memory {

// What takes `waiting` (for loads, and for whatever nobody does meanwhile) where the memory has
// nothing else to do, and keeps it busy for `busy`. At a fraction u of its bandwidth loads wait
// `queue` u / (1 - u) longer, in all; the longer that is, the smaller u. Any unit of time.
inline double seconds(double waiting, double busy, double queue) {
  const double apart = waiting - busy;
  return (waiting + busy + std::sqrt(apart * apart + 4 * queue * busy)) / 2;
}

}  // namespace busy_memory
