// What calls pass and return.
#pragma once

#include "harness/platform/model/ptx/module.hpp"

namespace gpubench::model::ptx {

// Makes registers of the variables that the kernel's calls pass, one for each element, or local
// memory of those that are not read as they were written: a short argument is stored as a word.
void place_passed(Kernel& kernel);

}  // namespace gpubench::model::ptx
