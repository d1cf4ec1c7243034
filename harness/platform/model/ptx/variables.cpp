#include "harness/platform/model/ptx/variables.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "harness/platform/model/ptx/types.hpp"

namespace gpubench::model::ptx {
namespace {

bool read(const std::string& digits, int base, std::uint64_t& value) {
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return error == std::errc() && end == digits.data() + digits.size();
}

bool begins_number(std::string_view word) {
  return word == "-" || (!word.empty() && word[0] >= '0' && word[0] <= '9');
}

// Every block that runs has tables of its own.
constexpr std::size_t most_bytes = std::size_t{16} << 20;

class VariableReader {
 public:
  VariableReader(Lexer& lexer, Variable& v) : lexer_(lexer), v_(v) {}

  void run() {
    lexer_.take();  // the space
    while (lexer_.peek().starts_with('.')) property();
    v_.name = lexer_.take();
    std::size_t count = 1;
    while (lexer_.accept("[")) {
      count *= lexer_.peek() == "]" ? 0 : take_number(lexer_).bits;
      lexer_.expect("]");
    }
    v_.alignment = std::max(v_.alignment, element_);
    if (element_ > 0 && count > most_bytes / element_) {
      v_.unusable = "is larger than the " + std::to_string(most_bytes >> 20) + " MiB of a table";
      return;
    }
    v_.bytes = element_ * count;
    v_.initial.assign(v_.bytes, std::byte{0});
    if (lexer_.accept("=")) value();
    if (lexer_.peek() != ";") v_.unusable = "has a declaration that it cannot read";
  }

 private:
  void property() {
    const std::string_view word = lexer_.take();
    if (word == ".align") {
      v_.alignment = take_number(lexer_).bits;
    } else if (const auto type = type_named(word.substr(1))) {
      element_ = bytes_of(*type);
    } else {
      v_.unusable = "is declared as " + std::string(word);
      if (lexer_.accept("(")) {  // ".attribute(.managed)"
        v_.unusable += '(' + std::string(lexer_.take()) + ')';
        lexer_.expect(")");
      }
    }
  }

  // A number, an address, or several in braces.
  void value() {
    if (lexer_.accept("{")) {
      while (!lexer_.accept("}")) {
        if (lexer_.peek().empty() || lexer_.peek() == ";") throw PtxError("no end of its values");
        value();
        lexer_.accept(",");
      }
    } else if (begins_number(lexer_.peek())) {
      const std::uint64_t bits = take_number(lexer_).bits;
      if (at_ + element_ > v_.initial.size()) throw PtxError("more values than it has elements");
      std::memcpy(v_.initial.data() + at_, &bits, element_);
      at_ += element_;
    } else {
      address();
    }
  }

  // "name", "generic(name)", "generic(name)+4"
  void address() {
    const bool is_generic = lexer_.accept("generic");
    if (is_generic) lexer_.expect("(");
    Address address{at_, std::string(lexer_.take()), 0};
    if (is_generic) lexer_.expect(")");
    if (lexer_.accept("+")) address.offset = take_number(lexer_).bits;
    if (element_ != 8 || at_ + element_ > v_.initial.size()) throw PtxError("an address of it");
    v_.addresses.push_back(std::move(address));
    at_ += element_;
  }

  Lexer& lexer_;
  Variable& v_;
  std::size_t element_ = 0, at_ = 0;
};

}  // namespace

Operand take_number(Lexer& lexer) {
  Operand o;
  o.kind = Operand::Kind::immediate;
  const bool minus = lexer.accept("-");
  std::string text(lexer.peek());
  const auto check = [&lexer](bool is_number, const std::string& digits) {
    if (is_number) return;
    // To count lines takes long: not for every number.
    throw PtxError("line " + std::to_string(lexer.line()) + ": no number: '" + digits + "'");
  };
  if (text.size() > 2 && text[0] == '0' &&
      (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D')) {
    o.is_float = true;
    o.width = text[1] == 'f' || text[1] == 'F' ? 32 : 64;
    check(read(text.substr(2), 16, o.bits), text);
    lexer.take();
    return o;
  }
  if (!text.empty() && text.back() == 'U') text.pop_back();
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  check(read(hexadecimal ? text.substr(2) : text, hexadecimal ? 16 : 10, o.bits), text);
  lexer.take();
  if (minus) o.bits = ~o.bits + 1;
  return o;
}

Variable take_module_variable(Lexer& lexer, bool is_extern) {
  Variable v;
  const bool is_shared = lexer.peek() == ".shared";
  try {
    VariableReader(lexer, v).run();
  } catch (const PtxError& error) {
    v.unusable = std::string("has a value that it cannot read (") + error.what() + ')';
  }
  if (is_extern && is_shared) {  // the launch says how large it is
    v.is_dynamic = true;
    v.bytes = 0;
  } else if (is_extern) {
    v.unusable = "is declared elsewhere";
  }
  lexer.skip_past(";");
  return v;
}

}  // namespace gpubench::model::ptx
