// What a thread that emulates is at, for whoever has to explain its crash.
#pragma once

#include <cstddef>

namespace gpubench::model {

// "thread (3,0,0) of block (0,0,0) of KERNEL"; leaves `text` alone where this thread runs no kernel
// from its source. Safe in a signal handler.
void describe_running(char* text, std::size_t bytes);

}  // namespace gpubench::model
