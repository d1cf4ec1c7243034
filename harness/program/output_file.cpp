#include "harness/program/output_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "harness/system/error.hpp"

namespace gpubench {
namespace {

std::filesystem::path beside(const std::filesystem::path& path) {
  return path.string() + ".partial-" + std::to_string(getpid());
}

[[noreturn]] void cannot_write(const std::filesystem::path& path) {
  throw UsageError("cannot write '" + path.string() +
                   "': " + std::error_code(errno, std::generic_category()).message());
}

}  // namespace

void check_writable(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    throw UsageError("cannot write '" + path.string() + "': it is a directory");
  }
  const std::filesystem::path partial = beside(path);
  if (!std::ofstream(partial)) cannot_write(path);
  std::filesystem::remove(partial);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path partial = beside(path);
  std::ofstream file(partial, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(partial.c_str(), path.c_str()) != 0) {
    const int why = errno;
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    errno = why;
    cannot_write(path);
  }
}

}  // namespace gpubench
