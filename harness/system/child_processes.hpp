// Work in a process of its own: what ends that process does not end this one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/system/crash.hpp"

namespace gpubench {

// How a child ended.
struct ChildEnd {
  std::optional<int> exit_code;         // it has done its work; absent: it has not
  bool handed_over = false;             // the rest is for another child
  int signal = 0;                       // that ended it before it was done
  int early_exit = 0;                   // without a signal: what it exited with before it was done
  std::uint64_t cpu_limit_seconds = 0;  // the limit of CPU time by which it was ended; 0: by none
  Crash crash;

  bool was_asked_for() const;       // somebody sent a signal that asks a program to end
  std::string description() const;  // "ended by signal 11 (Segmentation fault)"
};

class ChildProcesses {
 public:
  // UsageError: no memory can be shared with them.
  ChildProcesses();
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  // Forks, calls `work` in the new process and waits for its end. Signals that ask this process to
  // end are passed on to it; it ends when this process does, and what it has started ends with it,
  // unless this process is the system's first or had children before. To be called before there are
  // threads.
  // UsageError: no process can be started.
  ChildEnd run(const std::function<int()>& work);
  // The first signal that asked this process to end; 0: none.
  static int asked_by();
  // As if `signal` had asked: the next child ends tidily, with what there is.
  static void ask_next(int signal);
  // Ends this process by a signal that has ended its child.
  [[noreturn]] static void end_by(int signal);

 private:
  struct Shared;
  Shared* shared_;
  bool adopts_ = false;  // whether what a child leaves behind becomes a child of this process
};

// Whether this process is one.
bool is_child();
// Ends this child; another is to go on where it stopped.
[[noreturn]] void hand_over();
// Ends this process without destructors. A child has done its work then, which gave `code`.
[[noreturn]] void end_at_once(int code);

}  // namespace gpubench
