#include "harness/system/shell_word.hpp"

#include <cstdio>
#include <string_view>

#include "harness/system/plain_text.hpp"

namespace gpubench {
namespace {

// The quotes of bash and zsh, in which bytes can be numbers.
std::string with_numbers(std::string_view word) {
  std::string quoted = "$'";
  while (!word.empty()) {
    const CodePoint first = first_code_point(word);
    const std::string_view bytes = word.substr(0, first.bytes);
    if (is_harmful(first.code)) {
      for (const char byte : bytes) {
        char number[8];
        std::snprintf(number, sizeof number, "\\x%02x", static_cast<unsigned char>(byte));
        quoted += number;
      }
    } else {
      if (bytes == "'" || bytes == "\\") quoted += '\\';
      quoted += bytes;
    }
    word.remove_prefix(first.bytes);
  }
  return quoted + "'";
}

}  // namespace

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789@%+=:,./-_") == std::string::npos;
  if (plain) return word;
  if (plain_text(word) != word) return with_numbers(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\"'\"'" : std::string(1, c);
  return quoted + "'";
}

}  // namespace gpubench
