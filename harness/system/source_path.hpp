// Files of the source tree, as people who read a message know them.
#pragma once

#include <string>
#include <string_view>

namespace gpubench {

// "harness/cuda/check.cpp" of what __FILE__ is there. Outside the tree, "bench/NAME.cu",
// if it lies in such a folder, or else its name.
std::string source_path(std::string_view file);

}  // namespace gpubench
