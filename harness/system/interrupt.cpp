#include "harness/system/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <ctime>
#include <initializer_list>

namespace gpubench {
namespace {

constexpr double same_request_seconds = 0.3;

volatile std::sig_atomic_t caught = 0;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void note(int signal) {
  if (caught == 0) caught = signal;
}

// When the first request came directly, and when the first was passed on; 0: none has.
volatile double first_at[2] = {0, 0};

void note_or_end(int signal, siginfo_t* info, void*) {
  const bool is_passed_on = info->si_code == SI_QUEUE && info->si_pid == getppid();
  volatile double& first = first_at[is_passed_on ? 1 : 0];
  if (first == 0) {
    first = now();
  } else if (now() - first > same_request_seconds) {
    ::signal(signal, SIG_DFL);
    raise(signal);
  }
  note(signal);
}

bool is_ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void handle_requests(int signal) {
  struct sigaction action {};
  action.sa_sigaction = note_or_end;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGXCPU}) handle_requests(signal);
  if (!is_ignored(SIGHUP)) handle_requests(SIGHUP);
  handle(SIGPIPE, note);  // every later line to the same pipe raises it again
  handle(SIGXFSZ, SIG_IGN);
}

bool interrupted() { return caught != 0; }

int interrupting_signal() { return caught; }

void request_interrupt(int signal) { note(signal); }

void pass_on_interrupt(int process, int signal) { sigqueue(process, signal, {}); }

}  // namespace gpubench
