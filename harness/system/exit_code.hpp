#pragma once

#include <functional>

namespace gpubench {

// Calls `run`; what it throws becomes a line on standard error and an exit code.
int exit_code_of(const std::function<int()>& run);

}  // namespace gpubench
