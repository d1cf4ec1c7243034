#pragma once

#include <functional>

namespace gpubench {

// Calls `run`; what it throws becomes a line on standard error and an exit code.
int exit_code_of(const std::function<int()>& run);
// All of gpubench-cuda and of gpubench-model: flags, rows, result file. Returns the exit code that
// --help lists; throws UsageError for what the user can put right.
int run_program(int argc, char** argv);

}  // namespace gpubench
