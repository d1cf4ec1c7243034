#include "harness/system/child_process.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "harness/system/error.hpp"

namespace gpubench {

namespace {

std::filesystem::path beside_this(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace

bool has_sibling_program(const std::string& name) {
  return std::filesystem::exists(beside_this(name));
}

std::string sibling_program(const std::string& name) {
  const auto path = beside_this(name);
  if (!std::filesystem::exists(path)) {
    throw UsageError(name + " was not built; it belongs at " + path.string());
  }
  return path.string();
}

Ended run_program(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw UsageError("cannot start " + command.front());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Ended ended;
  std::array<char, 1 << 16> piece{};
  for (ssize_t n = 0; error == 0 && (n = read(ends[0], piece.data(), piece.size())) > 0;) {
    ended.output.append(piece.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (error != 0) throw UsageError("cannot start " + command.front());
  int status = 0;
  waitpid(child, &status, 0);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

}  // namespace gpubench
