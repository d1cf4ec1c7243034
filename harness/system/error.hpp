#pragma once

#include <stdexcept>

namespace gpubench {

// What the user can put right: a wrong argument, file or environment. The message is one line that
// names the thing; main prints it and exits with a non-zero status.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gpubench
