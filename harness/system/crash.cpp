#include "harness/system/crash.hpp"

#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

namespace gpubench {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10;

Crash* noted = nullptr;
int journal = -1;
const char* journal_line = nullptr;
DescribeThread describe_thread = nullptr;
std::atomic<bool> has_crashed = false;

void* interrupted_code(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<void*>(registers.gregs[REG_RIP]);
#else
  return reinterpret_cast<void*>(registers.pc);
#endif
}

void note_crash(int signal, siginfo_t* info, void* context) {
  if (!has_crashed.exchange(true)) {
    noted->signal = signal;
    noted->frames[0] = interrupted_code(context);
    noted->frame_count = 1;
    if (describe_thread != nullptr) {
      describe_thread(signal, info->si_addr, noted->doing.data(), noted->doing.size());
    }
    if (journal >= 0) {
      static_cast<void>(!write(journal, journal_line, std::strlen(journal_line)));
    }
    // Last: of a stack that is no longer one it may crash itself.
    const int rest =
        backtrace(noted->frames.data() + 1, static_cast<int>(noted->frames.size()) - 1);
    noted->frame_count += static_cast<std::size_t>(rest);
  }
  ::signal(signal, SIG_DFL);
  raise(signal);
}

// Not in the function that uses them: a thread's variables in functions may be a kernel's.
alignas(std::max_align_t) thread_local std::array<std::byte, stack_bytes> crash_stack;
thread_local bool has_crash_stack = false;

}  // namespace

void catch_crashes(Crash& crash, int file, const char* line) {
  noted = &crash;
  journal = file;
  journal_line = line;
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads what it needs, which a handler could not
  use_crash_stack();
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_sigaction = note_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

void use_crash_stack() {
#if defined(__SANITIZE_ADDRESS__)
  return;  // it gives each thread one, and takes that away at the thread's end
#endif
  if (has_crash_stack) return;
  stack_t stack{};
  stack.ss_sp = crash_stack.data();
  stack.ss_size = crash_stack.size();
  has_crash_stack = sigaltstack(&stack, nullptr) == 0;
}

void describe_crashes_by(DescribeThread describe) { describe_thread = describe; }

}  // namespace gpubench
