// Other programs of this build.
#pragma once

#include <string>
#include <vector>

namespace gpubench {

bool has_sibling_program(const std::string& name);
// The path of a program that lies beside this one. UsageError when there is none.
std::string sibling_program(const std::string& name);
// Runs a program and returns what it wrote to standard output. UsageError when it fails.
std::string output_of(const std::vector<std::string>& command);

}  // namespace gpubench
