#include "harness/program/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/system/error.hpp"
#include "harness/system/interrupt.hpp"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

// The open descriptor of standard output or error that is this file; -1: neither is.
int open_stream(const struct stat& file) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat open {};
    if (fstat(stream, &open) == 0 && open.st_dev == file.st_dev && open.st_ino == file.st_ino) {
      return stream;
    }
  }
  return -1;
}

// A named pipe opens only once somebody reads it, which may never happen: says what it waits for,
// until a signal asks for the end.
int open_in_place(const fs::path& path, mode_t mode) {
  constexpr int flags = O_WRONLY | O_CLOEXEC;
  if (!S_ISFIFO(mode)) return open(path.c_str(), flags);
  int pipe = -1;
  // False: nobody reads the pipe yet.
  const auto is_settled = [&] {
    pipe = open(path.c_str(), flags | O_NONBLOCK);
    return pipe >= 0 || errno != ENXIO;
  };
  if (!is_settled()) {
    std::cerr << "gpubench: waiting until somebody reads the pipe '" << path.string() << "'\n";
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (!is_settled() && !interrupted());
  }
  if (pipe >= 0) fcntl(pipe, F_SETFL, O_WRONLY);
  return pipe;
}

void write_in_place(const fs::path& path, const std::string& text) {
  struct stat there {};
  const int stream = stat(path.c_str(), &there) == 0 ? open_stream(there) : -1;
  const int file = stream >= 0 ? stream : open_in_place(path, there.st_mode);
  const bool written = file >= 0 && write_all(file, text);
  const int why = errno;
  const bool closed = stream >= 0 || file < 0 || close(file) == 0;
  if (written && closed) return;
  if (!written) errno = why;
  cannot_write(path);
}

// Creates a file beside `path` that was not there before: nobody can have put a link in its place.
// -1 and errno: it cannot be had.
int create_beside(const fs::path& path, fs::path& partial) {
  constexpr int most_left_behind = 100;  // by killed processes of this number
  int file = -1;
  for (int i = 0; i < most_left_behind; ++i) {
    partial = path;
    partial += ".partial-" + std::to_string(getpid());
    if (i > 0) partial += '-' + std::to_string(i);
    file = open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) break;
  }
  return file;
}

// In a folder such as /tmp, only the owner of a file, or of the folder, may replace it.
bool is_kept_for_another(const struct stat& file, const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  struct stat around {};
  const uid_t user = geteuid();
  return user != 0 && stat(folder.c_str(), &around) == 0 && (around.st_mode & S_ISVTX) != 0 &&
         file.st_uid != user && around.st_uid != user;
}

}  // namespace

fs::path companion_of(const fs::path& result_file, const char* what) {
  fs::path companion = behind_links(result_file);
  const bool is_json = companion.extension() == ".json";
  if (is_json) companion.replace_extension();
  return companion += std::string(is_json ? "." : "-") + what;
}

void cannot_write(const fs::path& path) {
  throw UsageError("cannot write '" + path.string() + "': " + system_reason());
}

fs::path behind_links(fs::path path) {
  constexpr int longest_chain = 40;  // as the kernel has it
  std::error_code error;
  for (int i = 0; i < longest_chain && fs::is_symlink(path, error); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

bool write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

bool is_written_in_place(const fs::path& path) {
  struct stat there {};
  return stat(path.c_str(), &there) == 0 && !S_ISDIR(there.st_mode) &&
         (!S_ISREG(there.st_mode) || open_stream(there) >= 0);
}

void check_writable(const fs::path& path) {
  struct stat there {};
  const bool is_there = stat(path.c_str(), &there) == 0;
  if (!is_there && errno != ENOENT) cannot_write(path);  // links in a circle, too long a name
  if (is_there && S_ISDIR(there.st_mode)) {
    throw UsageError("cannot write '" + path.string() + "': it is a directory");
  }
  if (is_written_in_place(path)) {
    const bool open = is_there && open_stream(there) >= 0;
    if (!open && access(path.c_str(), W_OK) != 0) cannot_write(path);
    return;
  }
  const fs::path real = behind_links(path);
  if (is_there && is_kept_for_another(there, real)) {
    errno = EPERM;
    cannot_write(path);
  }
  fs::path partial;
  const int file = create_beside(real, partial);
  if (file < 0) cannot_write(path);
  close(file);
  unlink(partial.c_str());
}

void write_file(const fs::path& path, const std::string& text) {
  if (is_written_in_place(path)) return write_in_place(path, text);
  const fs::path real = behind_links(path);
  fs::path partial;
  const int file = create_beside(real, partial);
  if (file < 0) cannot_write(path);
  bool good = write_all(file, text);
  int why = errno;
  if (close(file) != 0 && good) good = false, why = errno;
  if (good && std::rename(partial.c_str(), real.c_str()) != 0) good = false, why = errno;
  if (good) return;
  unlink(partial.c_str());
  errno = why;
  cannot_write(path);
}

bool are_same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  return fs::weakly_canonical(fs::absolute(behind_links(a)), error) ==
         fs::weakly_canonical(fs::absolute(behind_links(b)), error);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace gpubench
