#pragma once

namespace gpubench {

// All of gpubench-cuda and of gpubench-model: flags, rows, result file. Returns the exit code that
// --help lists; throws UsageError for what the user can put right.
int run_program(int argc, char** argv);

}  // namespace gpubench
