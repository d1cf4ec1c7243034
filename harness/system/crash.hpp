// What a process leaves behind when a signal such as SIGSEGV ends it: where it was, for another
// process to explain.
#pragma once

#include <array>
#include <cstddef>

namespace gpubench {

// Plain memory, so that it can lie in a page that two processes share.
struct Crash {
  int signal = 0;  // 0: there was none
  std::size_t frame_count = 0;
  std::array<void*, 32> frames{};  // code addresses, innermost first
  std::array<char, 256> doing{};   // what the crashing thread was at, in words
};

// From now on the first SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP or SIGSYS fills `crash`,
// writes `line` to `file` (-1: to nowhere) and then ends the process as it would have. Both must
// live as long as the process. A signal that somebody handles already is left alone.
void catch_crashes(Crash& crash, int file, const char* line);

// This thread's handlers get a stack of their own: a stack that has run over has no room for them.
void use_crash_stack();

// Writes what the calling thread is at into `text`; called from a signal handler, for this signal.
// `address`: where an access failed, for SIGSEGV and SIGBUS.
using DescribeThread = void (*)(int signal, const void* address, char* text, std::size_t bytes);
void describe_crashes_by(DescribeThread describe);

}  // namespace gpubench
