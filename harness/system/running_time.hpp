#pragma once

#include <chrono>

namespace gpubench {

// How long this process has run between two looks at the clock that are meant to be `look` apart.
// In a much longer gap it was stopped (Ctrl-Z, a suspended job, a frozen container).
inline std::chrono::duration<double> running_time(std::chrono::duration<double> gap,
                                                  std::chrono::duration<double> look) {
  return gap > 4 * look ? look : gap;
}

}  // namespace gpubench
