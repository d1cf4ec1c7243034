#include "harness/program/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace gpubench {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::size_t line_width() {
  const std::string_view columns = environment("COLUMNS");
  std::size_t width = 0;
  const char* end = columns.data() + columns.size();
  const auto read = std::from_chars(columns.data(), end, width);
  if (read.ec == std::errc() && read.ptr == end && width > 0) return width;
  winsize size{};
  return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col
                                                                                    : 0;
}

bool shows_colours(Colour wanted) {
  if (wanted != Colour::automatic) return wanted == Colour::always;
  return isatty(STDOUT_FILENO) != 0 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

}  // namespace gpubench
