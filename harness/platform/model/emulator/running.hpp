// What a thread that emulates is at, for whoever has to explain its crash.
#pragma once

#include <cstddef>

namespace gpubench::model {

// "thread (3,0,0) of block (0,0,0) of KERNEL", and what this signal means in a kernel, where that
// is known; `address`: what it could not access. Leaves `text` alone where this thread runs no
// kernel from its source. Safe in a signal handler.
void describe_running(int signal, const void* address, char* text, std::size_t bytes);

}  // namespace gpubench::model
