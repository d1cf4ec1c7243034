// From a code address to the line of source it was compiled from.
#pragma once

#include <string>

namespace gpubench::model {

// "kernels/coalescing.cuh:42" for the instruction before `return_address` (an instrumentation
// call's return address), or the symbol where no line is known. Slow: for messages only.
std::string source_location(const void* return_address);

}  // namespace gpubench::model
