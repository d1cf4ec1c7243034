#include "harness/platform/model/ptx/lexer.hpp"

#include <algorithm>

#include "harness/platform/model/ptx/module.hpp"

namespace gpubench::model::ptx {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

}  // namespace

void Lexer::advance() {
  for (;;) {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
    if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_.substr(at_, 2) == "/*") {
      const std::size_t end = text_.find("*/", at_ + 2);
      at_ = end == text_.npos ? text_.size() : end + 2;
    } else {
      break;
    }
  }
  begin_ = at_;
  if (at_ >= text_.size()) {
    token_ = {};
    return;
  }
  if (text_[at_] == '"') {
    const std::size_t end = text_.find('"', at_ + 1);
    at_ = end == text_.npos ? text_.size() : end + 1;
  } else if (is_word(text_[at_])) {
    // "shared::cta" is a word, "label:" are two.
    while (at_ < text_.size() && (is_word(text_[at_]) || text_.substr(at_, 2) == "::")) {
      at_ += is_word(text_[at_]) ? 1 : 2;
    }
  } else {
    ++at_;
  }
  token_ = text_.substr(begin_, at_ - begin_);
}

std::string_view Lexer::take() {
  const std::string_view taken = token_;
  end_of_last_ = at_;
  advance();
  return taken;
}

bool Lexer::accept(std::string_view token) {
  if (token_ != token) return false;
  take();
  return true;
}

void Lexer::expect(std::string_view token) {
  if (accept(token)) return;
  throw PtxError("line " + std::to_string(line()) + ": '" + std::string(token_) +
                 "' where the PTX needs '" + std::string(token) + "'");
}

unsigned Lexer::line() const {
  return 1 + static_cast<unsigned>(std::count(
                 text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin_), '\n'));
}

void Lexer::skip_line() {
  const std::size_t end = text_.find('\n', begin_);
  at_ = end == text_.npos ? text_.size() : end;
  advance();
}

void Lexer::skip_past(std::string_view end) {
  for (unsigned depth = 0; !token_.empty();) {
    const std::string_view token = take();
    if (token == "{") ++depth;
    if (token == "}" && depth > 0) --depth;
    if (depth == 0 && token == end) return;
  }
}

void Lexer::skip_braces() {
  expect("{");
  for (unsigned depth = 1; depth > 0;) {
    const std::string_view token = take();
    if (token.empty()) throw PtxError("a '{' without its '}'");
    if (token == "{") ++depth;
    if (token == "}") --depth;
  }
}

}  // namespace gpubench::model::ptx
