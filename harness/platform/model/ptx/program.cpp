#include "harness/platform/model/ptx/program.hpp"

namespace gpubench::model::ptx {

std::string Program::place(const Op& op) const {
  const Instruction& i = kernel->instructions[op.instruction];
  if (i.line.file >= module->files.size() || i.line.line == 0) return "?";
  const std::string& file = module->files[i.line.file];
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(i.line.line);
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!is_blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  return line;
}

std::string Program::describe(const Op& op) const {
  const std::string text = one_line(kernel->instructions[op.instruction].text);
  constexpr std::size_t most = 120;
  return '\'' + text.substr(0, most) + (text.size() > most ? " ...' (" : "' (") + place(op) + ')';
}

}  // namespace gpubench::model::ptx
