#include "harness/system/interrupt.hpp"

#include <csignal>
#include <initializer_list>

namespace gpubench {
namespace {

volatile std::sig_atomic_t caught = 0;

void note(int signal) {
  if (caught == 0) caught = signal;
}

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_interrupts() {
  constexpr int once = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM, SIGXCPU}) handle(signal, note, once);
  if (!is_ignored(SIGHUP)) handle(SIGHUP, note, once);
  handle(SIGPIPE, note, SA_RESTART);  // every later line to the same pipe raises it again
  handle(SIGXFSZ, SIG_IGN, 0);
}

bool interrupted() { return caught != 0; }

int interrupting_signal() { return caught; }

}  // namespace gpubench
