#include "harness/system/child_process.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string_view>

#include "harness/system/error.hpp"

namespace gpubench {

namespace {

constexpr std::array<std::string_view, 2> suffixes{"-model", "-cuda"};  // by Half

std::filesystem::path path_of(Half half) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  std::string name = self.filename().string();
  for (const std::string_view suffix : suffixes) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return self.parent_path() / name.append(suffixes[static_cast<std::size_t>(half)]);
}

}  // namespace

bool has_half(Half half) { return std::filesystem::exists(path_of(half)); }

std::string half_of_program(Half half) {
  const auto path = path_of(half);
  if (!std::filesystem::exists(path)) {
    throw UsageError(path.filename().string() + " was not built; it belongs at " + path.string());
  }
  return path.string();
}

ChildResult run_child(const std::vector<std::string>& command) {
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
  ChildResult result;
  std::array<char, 1 << 16> piece{};
  for (ssize_t n = 0; error == 0 && (n = read(ends[0], piece.data(), piece.size())) > 0;) {
    result.output.append(piece.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (error != 0) throw UsageError("cannot start " + command.front());
  int status = 0;
  waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace gpubench
