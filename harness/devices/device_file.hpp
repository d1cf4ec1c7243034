// The errors of device files.
#pragma once

#include <string>

namespace gpubench {

// Throws what is wrong with `origin` as one line, whatever the file holds.
[[noreturn]] void fail(const std::string& origin, const std::string& problem);

}  // namespace gpubench
