#pragma once

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

namespace gpubench {

// What the user can put right: a wrong argument, file or environment. The message is one line that
// names the thing; main prints it and exits with a non-zero status.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the system says of the call that has just failed: errno in words.
inline std::string system_reason() {
  return std::error_code(errno, std::generic_category()).message();
}

}  // namespace gpubench
