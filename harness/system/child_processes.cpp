#include "harness/system/child_processes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <sstream>
#include <system_error>
#include <vector>

#include "harness/system/error.hpp"
#include "harness/system/interrupt.hpp"

namespace gpubench {

enum ChildState { working, done, handed_over };

struct ChildProcesses::Shared {
  std::atomic<int> state = working;
  int exit_code = 0;
  Crash crash;
};

namespace {

constexpr std::array asking{SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU};

volatile std::sig_atomic_t asked = 0;
volatile pid_t child = 0;
// This process's, if it is a child.
std::atomic<int>* my_state = nullptr;
int* my_exit_code = nullptr;

void pass_on(int signal) {
  const int why = errno;
  if (asked == 0) asked = signal;
  if (child > 0) pass_on_interrupt(child, signal);
  errno = why;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  if (signal == SIGHUP && now.sa_handler == SIG_IGN) return;  // nohup
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// Whom the system ends first when memory runs out: a row, not the run.
void volunteer_for_memory() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  static_cast<void>(!write(file, "500", 3));
  close(file);
}

bool has_children() {
  siginfo_t end{};
  return waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// The parent of a process; 0: it has just ended.
pid_t parent_of(const std::string& process) {
  std::string text, state;
  std::getline(std::ifstream("/proc/" + process + "/stat"), text);
  pid_t parent = 0;
  // Its name stands in brackets, and may hold some.
  std::istringstream(text.substr(text.rfind(')') + 1)) >> state >> parent;
  return parent;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (parent_of(name) == getpid()) found.push_back(std::stoi(name));
  }
  return found;
}

// What a row has started and not ended would disturb the rows after it, and keep the journal locked
// and whoever reads standard output waiting. Children of what is ended here become this process's.
// One that may not be ended, or hangs in a driver, is left: the run goes on.
void end_what_is_left() {
  constexpr int most_looks = 200;
  constexpr useconds_t between_looks = 10'000;  // [us]
  for (int i = 0; i < most_looks && has_children(); ++i) {
    for (const pid_t process : children()) kill(process, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    usleep(between_looks);
  }
}

// The limit of CPU time that has ended a process, which nobody has waited for yet [s]; 0: none has.
// SIGKILL comes by the system's ticks: on a busy machine, they may count much less or more than the
// clock does.
std::uint64_t cpu_limit_reached(pid_t process) {
  constexpr double least_share = 0.9, most_missing_seconds = 0.5;
  struct rlimit limit {};
  clockid_t clock{};
  timespec used{};
  if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY ||
      clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    return 0;
  }
  const double seconds =
      static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  const auto most = static_cast<double>(limit.rlim_max);
  const double almost = std::min(least_share * most, most - most_missing_seconds);
  return seconds >= almost ? limit.rlim_max : 0;
}

// Waits for its end.
ChildEnd end_of(pid_t process) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(process);
  while (waitid(P_PID, id, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  const std::uint64_t cpu_limit = cpu_limit_reached(process);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  ChildEnd end;
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.early_exit = WEXITSTATUS(status);
  if (end.signal == SIGKILL) end.cpu_limit_seconds = cpu_limit;
  return end;
}

}  // namespace

bool ChildEnd::was_asked_for() const {
  constexpr std::array others{SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2};
  return std::ranges::find(asking, signal) != asking.end() ||
         std::ranges::find(others, signal) != others.end();
}

std::string ChildEnd::description() const {
  if (signal == 0) return "ended with exit code " + std::to_string(early_exit);
  std::string text = "ended by signal " + std::to_string(signal);
  if (const char* words = strsignal(signal)) text += std::string(" (") + words + ")";
  if (cpu_limit_seconds > 0) {
    text += " at the limit of " + std::to_string(cpu_limit_seconds) + " s of CPU time (ulimit -t)";
  } else if (signal == SIGKILL) {
    text += ", as the system does when memory runs out";
  }
  return text;
}

ChildProcesses::ChildProcesses() {
  void* const page =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw UsageError("cannot share memory: " + system_reason());
  shared_ = new (page) Shared;
  // A container's first process has everybody's orphans for children; and a shell may have started
  // others before it became this program.
  adopts_ = getpid() != 1 && !has_children() && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

ChildProcesses::~ChildProcesses() { munmap(shared_, sizeof(Shared)); }

ChildEnd ChildProcesses::run(const std::function<int()>& work) {
  new (shared_) Shared;
  for (std::ostream* stream : {&std::cout, &std::cerr}) stream->flush();
  std::fflush(nullptr);
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  for (const int signal : asking) handle(signal, pass_on);
  const pid_t parent = getpid();
  child = fork();
  if (child == 0) {
    for (const int signal : asking) handle(signal, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    volunteer_for_memory();
    my_state = &shared_->state;
    my_exit_code = &shared_->exit_code;
    catch_crashes(shared_->crash, -1, "");
    if (asked != 0) request_interrupt(asked);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    shared_->exit_code = work();
    std::cout.flush();
    shared_->state = done;
    std::exit(shared_->exit_code);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    throw UsageError("cannot start a process for the rows: " + system_reason() +
                     "; --isolate=none runs them in this one");
  }
  ChildEnd end = end_of(child);
  child = 0;
  if (adopts_) end_what_is_left();
  const int state = shared_->state;
  end.handed_over = state == ChildState::handed_over;
  if (state == done) end.exit_code = shared_->exit_code;
  end.crash = shared_->crash;
  return end;
}

int ChildProcesses::asked_by() { return asked; }

void ChildProcesses::ask_next(int signal) { asked = signal; }

void ChildProcesses::end_by(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);
  std::_Exit(128 + signal);  // not reached: nothing blocks it
}

bool is_child() { return my_state != nullptr; }

void hand_over() {
  std::cout.flush();
  *my_state = handed_over;
  _exit(0);
}

void end_at_once(int code) {
  std::cout.flush();
  if (is_child()) {
    *my_exit_code = code;
    *my_state = done;
  }
  _exit(code);
}

}  // namespace gpubench
