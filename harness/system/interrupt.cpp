#include "harness/system/interrupt.hpp"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>
#include <initializer_list>

namespace gpubench {
namespace {

constexpr double same_request_seconds = 0.3;

volatile std::sig_atomic_t caught = 0;

double seconds_on(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double now() { return seconds_on(CLOCK_MONOTONIC); }

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

void note_cpu_limit(int) { note(SIGXCPU); }

// Where the soft limit of CPU time is the hard one too, SIGKILL comes without SIGXCPU: this process
// asks itself to end, so long before.
void expect_hard_cpu_limit() {
  constexpr double most_spare_seconds = 1;
  constexpr long second = 1'000'000;  // [us]
  struct rlimit limit {};
  if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY ||
      limit.rlim_cur < limit.rlim_max) {
    return;
  }
  const auto seconds = static_cast<double>(limit.rlim_max);
  const double until = seconds - std::min(most_spare_seconds, seconds / 2);
  const double left = until - seconds_on(CLOCK_PROCESS_CPUTIME_ID);
  const double most = 1e9;  // seconds: 30 years
  const long microseconds =
      std::max(std::lround(std::min(left, most) * second), 1L);  // 0 would be never
  handle(SIGPROF, note_cpu_limit);
  itimerval timer{};
  timer.it_value.tv_sec = microseconds / second;
  timer.it_value.tv_usec = microseconds % second;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace

void catch_interrupts() {
  expect_hard_cpu_limit();
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
