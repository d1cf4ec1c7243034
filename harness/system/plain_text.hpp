// Text from files and the command line, made harmless for a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpubench {

// The code point at the beginning of `text`, and how many bytes it takes; of what is not UTF-8, one
// byte and a code that no terminal should get.
struct CodePoint {
  std::uint32_t code;
  std::size_t bytes;
};
inline CodePoint first_code_point(std::string_view text) {
  constexpr CodePoint wrong{0xFFFF, 1};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return wrong;
  std::uint32_t code = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return wrong;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < least[bytes] || code > 0x10FFFF ? wrong : CodePoint{code, bytes};
}

// Whether a terminal would obey it, or show the rest of the line in another order.
inline bool is_harmful(std::uint32_t code) {
  const auto within = [&](std::uint32_t low, std::uint32_t high) {
    return code >= low && code <= high;
  };
  const bool control = code < 0x20 || within(0x7F, 0x9F) || within(0x2028, 0x2029);
  const bool direction =
      code == 0x61C || within(0x200E, 0x200F) || within(0x202A, 0x202E) || within(0x2066, 0x2069);
  return control || direction || within(0xD800, 0xDFFF) || (code & 0xFFFE) == 0xFFFE;
}

// `text` as one line that a terminal only shows: a blank for each control character, '?' for what
// is not UTF-8 or would reorder the line.
inline std::string plain_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const CodePoint first = first_code_point(text);
    if (is_harmful(first.code)) {
      result += first.code < 0x20 ? ' ' : '?';
    } else {
      result += text.substr(0, first.bytes);
    }
    text.remove_prefix(first.bytes);
  }
  return result;
}

}  // namespace gpubench
