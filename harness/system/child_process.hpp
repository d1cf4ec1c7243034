// Other programs of this build.
#pragma once

#include <string>
#include <vector>

namespace gpubench {

// What gpubench tells the model that it becomes by itself: why nothing is measured.
inline constexpr const char* modelled_because = "GPUBENCH_MODELLED_BECAUSE";

// A project's program is three: NAME becomes NAME-cuda or NAME-model, and these start each other.
enum class Half { model, cuda };
// Whether that half of this program lies beside it: of "gpubench", "gpubench-cuda" and so on.
bool has_half(Half half);
// Its path. UsageError when there is none.
std::string half_of_program(Half half);

// What a program wrote to standard output, and how it ended.
struct ChildResult {
  std::string output;
  int exit_code = 0;  // 128 + N when signal N ended it, as a shell says it
};
// Runs a program to its end. UsageError when it cannot be started.
ChildResult run_child(const std::vector<std::string>& command);

}  // namespace gpubench
