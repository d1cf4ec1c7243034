#include "harness/system/interrupt.hpp"

#include <csignal>

namespace gpubench {
namespace {

volatile std::sig_atomic_t was_interrupted = 0;

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { was_interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return was_interrupted != 0; }

}  // namespace gpubench
