// Splits PTX text into words and signs.
#pragma once

#include <string>
#include <string_view>

namespace gpubench::model::ptx {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }

  // The token at hand; "" at the end. A string keeps its quotes.
  std::string_view peek() const { return token_; }
  std::string_view take();
  bool accept(std::string_view token);
  void expect(std::string_view token);
  // Where the token at hand begins in the text, and how far the last one taken reached.
  std::size_t begin() const { return begin_; }
  std::size_t end_of_last() const { return end_of_last_; }
  std::string_view text() const { return text_; }
  unsigned line() const;
  void skip_line();
  void skip_past(std::string_view end);  // that stands outside braces, or to the end
  void skip_braces();                    // from '{' at hand to its '}'

 private:
  void advance();

  std::string_view text_;
  std::string_view token_;
  std::size_t begin_ = 0, at_ = 0, end_of_last_ = 0;
};

}  // namespace gpubench::model::ptx
