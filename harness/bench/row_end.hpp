// How a bench function ends before its end.
#pragma once

#include <string>

namespace gpubench {

// What this device lacks for the row.
struct Skipped {
  std::string reason;
};

inline constexpr const char* judged_right = "the results are right";
// Results that another process had kept are right; there is no time of them here.
struct Judged {};

// The row has failed, and no time of it is worth anything.
struct WrongResult {
  std::string what;
};

// Nothing was to be run: what the bench function has said by then is all that was asked for.
struct Described {};

}  // namespace gpubench
