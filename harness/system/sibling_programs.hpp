// Other programs of this build.
#pragma once

#include <filesystem>
#include <string>

namespace gpubench {

// What gpubench tells the model that it becomes by itself: why nothing is measured.
inline constexpr const char* modelled_because = "GPUBENCH_MODELLED_BECAUSE";

// What scripts/bench tells gpubench: where the report will be that it makes of the run.
inline constexpr const char* report_follows = "GPUBENCH_REPORT_FOLLOWS";

// A project's program is three: NAME becomes NAME-cuda or NAME-model, and these start each other.
enum class Half { model, cuda };
// Where that half of this program belongs: beside it, of "gpubench", "gpubench-cuda" and so on.
std::filesystem::path path_of(Half half);
bool has_half(Half half);
// The path of one that is there. UsageError when there is none.
std::string half_of_program(Half half);

}  // namespace gpubench
