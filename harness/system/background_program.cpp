#include "harness/system/background_program.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "harness/system/cores.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

constexpr int lowest_priority = 19;
constexpr int cannot_start = 127;  // as shells have it

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// In the new process, which must call nothing that could wait for a lock of another thread's.
[[noreturn]] void become(char* const* words, const char* errors, const cpu_set_t* cpus) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpriority(PRIO_PROCESS, 0, lowest_priority);
  if (cpus != nullptr) sched_setaffinity(0, sizeof(*cpus), cpus);
  const int nothing = open("/dev/null", O_RDWR);
  const int said = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(said < 0 ? nothing : said, STDERR_FILENO);
  execv(words[0], words);
  _exit(cannot_start);
}

}  // namespace

BackgroundProgram::BackgroundProgram(const std::vector<std::string>& command,
                                     const std::filesystem::path& errors,
                                     const std::vector<int>& cpus) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const cpu_set_t set = set_of(cpus);
  process_ = fork();
  if (process_ == 0) become(words.data(), errors.c_str(), cpus.empty() ? nullptr : &set);
  if (process_ < 0) throw UsageError("cannot start " + command.front() + ": " + system_reason());
}

BackgroundProgram::~BackgroundProgram() {
  if (exit_code()) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

std::optional<int> BackgroundProgram::exit_code() {
  int status = 0;
  if (!exit_code_ && waitpid(process_, &status, WNOHANG) == process_) {
    exit_code_ = exit_code_of(status);
  }
  return exit_code_;
}

}  // namespace gpubench
