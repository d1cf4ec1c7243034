// From a code address to the line of source it was compiled from.
#pragma once

#include <functional>
#include <string>

namespace gpubench::model {

// "kernels/coalescing.cuh:42" for the instruction before `return_address` (an instrumentation
// call's return address), or the symbol where no line is known. Slow: for messages only.
std::string source_location(const void* return_address);

// `place` tells the line of addresses in [begin, end), which are no code of the program's. For
// ever.
void add_places(const void* begin, const void* end, std::function<std::string(const void*)> place);

}  // namespace gpubench::model
