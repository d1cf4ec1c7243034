// Other programs of this build.
#pragma once

#include <string>
#include <vector>

namespace gpubench {

// What gpubench tells the model that it becomes by itself: why nothing is measured.
inline constexpr const char* modelled_because = "GPUBENCH_MODELLED_BECAUSE";

bool has_sibling_program(const std::string& name);
// The path of a program that lies beside this one. UsageError when there is none.
std::string sibling_program(const std::string& name);
// What a program wrote to standard output, and how it ended.
struct Ended {
  std::string output;
  int exit_code = 0;  // 128 + N when signal N ended it, as a shell says it
};
// Runs a program to its end. UsageError when it cannot be started.
Ended run_program(const std::vector<std::string>& command);

}  // namespace gpubench
