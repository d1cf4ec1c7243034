#include <algorithm>
#include <charconv>
#include <cstring>

#include "harness/platform/model/ptx/calls.hpp"
#include "harness/platform/model/ptx/lexer.hpp"
#include "harness/platform/model/ptx/module.hpp"
#include "harness/platform/model/ptx/scopes.hpp"
#include "harness/platform/model/ptx/variables.hpp"

namespace gpubench::model::ptx {
namespace {

std::size_t bytes_of_type(std::string_view type) {
  if (type == "pred") return 4;
  std::size_t bits = 0;
  const auto digits = type.find_first_of("0123456789");
  if (digits != type.npos) {
    std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  }
  if (bits < 8) throw PtxError("a type that nobody knows: '" + std::string(type) + "'");
  return bits / 8;
}

class Parser {
 public:
  Parser(Module& module) : module_(module), lexer_(module.text) {}

  void run() {
    while (!lexer_.peek().empty()) statement();
  }

 private:
  void statement() {
    const std::string_view word = lexer_.peek();
    if (word == ".version" || word == ".target" || word == ".address_size") {
      lexer_.skip_line();
    } else if (word == ".file") {
      file();
    } else if (word == ".section") {
      while (lexer_.peek() != "{") lexer_.take();
      lexer_.skip_braces();
    } else if (word == ".entry") {
      lexer_.take();
      kernel();
    } else if (word == ".func") {
      lexer_.take();
      function();
    } else if (word == ".shared") {
      const Variable v = take_module_variable(lexer_, is_extern_);
      module_.shared.emplace(v.name, v);
    } else if (word == ".global" || word == ".const") {
      const Variable v = take_module_variable(lexer_, is_extern_);
      module_.variables.emplace(v.name, v);
    } else if (word == ".extern") {
      lexer_.take();
      is_extern_ = true;
      return;
    } else if (word == ".visible" || word == ".weak" || word == ".common") {
      lexer_.take();
      return;
    } else {
      lexer_.skip_past(";");
    }
    is_extern_ = false;
  }

  void file() {
    lexer_.expect(".file");
    const std::size_t number = integer();
    if (module_.files.size() <= number) module_.files.resize(number + 1);
    const std::string_view quoted = lexer_.take();
    module_.files[number] = quoted.substr(1, quoted.size() - 2);
    while (lexer_.accept(",")) lexer_.take();
  }

  // ".func (.param .b32 result) name(.param ...) {...}"; without its body it stands elsewhere.
  void function() {
    Kernel f;
    header(f);
    if (lexer_.accept(";")) return;
    readable_body(f);
    const std::string name = f.name;
    module_.functions.emplace(name, std::move(f));
  }

  // All that stands before a body, or before the ';' in its place; with .noreturn and the like. Who
  // uses what cannot be read of it must know its name.
  void header(Kernel& k) {
    const Lexer begin = lexer_;
    k.name = first_name(begin);
    try {
      if (lexer_.accept("(")) parameters(k.results);
      lexer_.expect(k.name);
      if (lexer_.accept("(")) parameters(k.parameters);
    } catch (const PtxError& error) {
      k.unreadable = error.what();
      lexer_ = begin;
    }
    while (lexer_.peek() != ";" && lexer_.peek() != "{") {
      if (lexer_.take().empty()) refuse("a kernel or function without an end");
    }
  }

  // The first word outside brackets that is no directive.
  static std::string first_name(Lexer ahead) {
    for (unsigned depth = 0; !ahead.peek().empty();) {
      const std::string_view word = ahead.take();
      if (word == "(") {
        ++depth;
      } else if (word == ")" && depth > 0) {
        --depth;
      } else if (depth == 0 && word[0] != '.') {
        return std::string(word);
      }
    }
    return "";
  }

  // ".shared .align 4 .b8 name[32] = {...};"; a parameter has no ';'.
  Variable variable(bool is_parameter) {
    lexer_.take();  // the space
    Variable v;
    std::size_t element = 0, alignment = 0;
    for (;;) {
      const std::string_view word = lexer_.peek();
      if (word == ".align") {
        lexer_.take();
        alignment = integer();
      } else if (word == ".ptr") {  // what the parameter points to
        lexer_.take();
      } else if (word.size() > 1 && word[0] == '.') {
        lexer_.take();
        if (!is_parameter || element == 0) {
          if (word != ".global" && word != ".const" && word != ".shared") {
            element = bytes_of_type(word.substr(1));
          }
        }
      } else {
        break;
      }
    }
    if (element == 0) refuse("a variable without a type that it knows");
    v.name = lexer_.take();
    std::size_t count = 1;
    while (lexer_.accept("[")) {
      if (lexer_.accept("]")) {
        count = 0;
        continue;
      }
      count *= integer();
      lexer_.expect("]");
    }
    v.bytes = element * count;
    v.alignment = alignment != 0 && !(is_parameter && count == 1) ? alignment : element;
    if (!is_parameter) lexer_.expect(";");
    return v;
  }

  void kernel() {
    Kernel& k = module_.kernels.emplace_back();
    header(k);
    if (lexer_.accept(";")) {
      if (k.unreadable.empty()) k.unreadable = "its body stands elsewhere";
      return;
    }
    readable_body(k);
  }

  void parameters(std::vector<Variable>& all) {
    while (!lexer_.accept(")")) {
      all.push_back(variable(true));
      lexer_.accept(",");
    }
  }

  void readable_body(Kernel& k) {
    if (!k.unreadable.empty()) return lexer_.skip_braces();
    const Lexer begin = lexer_;
    try {
      body(k);
    } catch (const PtxError& error) {
      k.unreadable = error.what();
      lexer_ = begin;
      lexer_.skip_braces();
    }
    kernel_ = nullptr;
  }

  void body(Kernel& k) {
    kernel_ = &k;
    line_ = {};
    scopes_ = {};
    lexer_.expect("{");
    scopes_.open();
    for (unsigned depth = 1; depth > 0;) {
      if (lexer_.accept("{")) {
        scopes_.open();
        ++depth;
      } else if (lexer_.accept("}")) {
        scopes_.close();
        --depth;
      } else {
        body_statement(k);
      }
    }
    resolve_labels(k);
  }

  void body_statement(Kernel& k) {
    const std::string_view word = lexer_.peek();
    if (word.empty()) refuse("a kernel without its '}'");
    if (word == ".reg" || word.starts_with(".reg.")) {
      registers(k);
    } else if (word == ".local") {
      k.local.push_back(variable(false));
    } else if (word == ".shared") {
      k.shared.push_back(variable(false));
    } else if (word == ".param") {
      k.passed.insert(scopes_.declare(variable(false).name));
    } else if (word == ".loc") {
      location();
    } else if (word == ".pragma" || word == ".callprototype") {
      lexer_.skip_past(";");
    } else if (word[0] == '.') {
      refuse("a directive that nobody knows: '" + std::string(word) + "'");
    } else {
      instruction(k);
    }
  }

  void registers(Kernel& k) {
    const std::string_view word = lexer_.take();  // inline assembly has ".reg.b16" too
    const std::string type(word == ".reg" ? lexer_.take().substr(1) : word.substr(5));
    do {
      const std::string name(lexer_.take());
      if (lexer_.accept("<")) {
        const std::size_t count = integer();
        lexer_.expect(">");
        for (std::size_t i = 0; i < count; ++i) {
          k.registers[scopes_.declare(name + std::to_string(i))] = type;
        }
      } else {
        k.registers[scopes_.declare(name)] = type;
      }
    } while (lexer_.accept(","));
    lexer_.expect(";");
  }

  // ".loc 1 16 5, function_name label, inlined_at 2 28 5": where the kernel's own text stands.
  void location() {
    lexer_.take();
    line_.file = static_cast<std::uint32_t>(integer());
    line_.line = static_cast<std::uint32_t>(integer());
    integer();
    while (lexer_.accept(",")) {
      if (lexer_.take() == "function_name") {
        lexer_.take();
        if (lexer_.accept("+")) integer();
      } else {
        for (int i = 0; i < 3; ++i) integer();
      }
    }
  }

  void instruction(Kernel& k) {
    Instruction i;
    const std::size_t begin = lexer_.begin();
    i.line = line_;
    if (lexer_.accept("@")) {
      i.guard_negated = lexer_.accept("!");
      i.guard = scopes_.find(std::string(lexer_.take()));
    }
    i.opcode = lexer_.take();
    if (i.guard.empty() && lexer_.accept(":")) {
      const std::string name = Scopes::renamed(i.opcode, scopes_.innermost());
      k.labels[name] = k.instructions.size();
      return;
    }
    for (std::size_t at = 0; at <= i.opcode.size();) {
      const std::size_t dot = std::min(i.opcode.find('.', at), i.opcode.size());
      i.parts.push_back(i.opcode.substr(at, dot - at));
      at = dot + 1;
    }
    while (!lexer_.accept(";")) {
      i.operands.push_back(operand());
      if (lexer_.peek() != ";") lexer_.expect(",");
    }
    i.text = lexer_.text().substr(begin, lexer_.end_of_last() - begin);
    if (i.parts[0] == "bra" && !i.operands.empty()) {
      i.operands[0].offset = scopes_.innermost();
    }
    k.instructions.push_back(std::move(i));
  }

  // A jump's target is the innermost label of that name around it; inline assembly's are nested one
  // deep at the most here, and jump within their braces.
  void resolve_labels(Kernel& k) {
    for (Instruction& i : k.instructions) {
      if (i.parts[0] != "bra" || i.operands.empty()) continue;
      Operand& target = i.operands[0];
      std::string name = Scopes::renamed(target.name, static_cast<unsigned>(target.offset));
      if (!k.labels.contains(name)) name = Scopes::renamed(target.name, 0);
      if (!k.labels.contains(name))
        refuse("no label " + target.name + " for '" + std::string(i.text) + "'");
      target.name = name;
      target.offset = 0;
    }
  }

  Operand operand() {
    Operand o = simple_operand();
    if (!lexer_.accept("|")) return o;
    Operand pair;
    pair.kind = Operand::Kind::pair;
    pair.elements = {std::move(o), simple_operand()};
    return pair;
  }

  Operand simple_operand() {
    Operand o;
    const std::string_view word = lexer_.peek();
    if (word.empty()) refuse("an instruction without its ';'");
    if (lexer_.accept("[")) {
      o.kind = Operand::Kind::address;
      do o.elements.push_back(operand());
      while (lexer_.accept(","));
      lexer_.expect("]");
      std::swap(o.offset, o.elements[0].offset);
      return o;
    }
    const bool in_braces = lexer_.accept("{");
    if (in_braces || lexer_.accept("(")) {
      o.kind = Operand::Kind::vector;
      while (!lexer_.accept(in_braces ? "}" : ")")) {
        o.elements.push_back(operand());
        lexer_.accept(",");
      }
      return o;
    }
    if (lexer_.accept("!")) {
      o = simple_operand();
      o.negated = !o.negated;
      return o;
    }
    if (word == "_") {
      lexer_.take();
      return o;
    }
    if (word == "-" || (word[0] >= '0' && word[0] <= '9')) return take_number(lexer_);
    o.name = lexer_.take();
    if (o.name == "WARP_SZ") {
      o.kind = Operand::Kind::immediate;
      o.bits = 32;
      return o;
    }
    const std::string scoped = scopes_.find(o.name);
    const bool is_register = kernel_ != nullptr && kernel_->registers.contains(scoped);
    o.kind = is_register || o.name[0] == '%' ? Operand::Kind::reg : Operand::Kind::symbol;
    o.name = scoped;
    if (lexer_.accept("+")) o.offset = static_cast<std::int64_t>(take_number(lexer_).bits);
    return o;
  }

  std::size_t integer() { return static_cast<std::size_t>(take_number(lexer_).bits); }

  [[noreturn]] void refuse(const std::string& what) const {
    throw PtxError(module_.origin + ", line " + std::to_string(lexer_.line()) + ": " + what);
  }

  Module& module_;
  Lexer lexer_;
  Scopes scopes_;
  Kernel* kernel_ = nullptr;
  Line line_;
  bool is_extern_ = false;
};

}  // namespace

bool Instruction::has(std::string_view part) const {
  return std::find(parts.begin() + 1, parts.end(), part) != parts.end();
}

std::shared_ptr<const Module> parse(std::string text, std::string origin) {
  auto module = std::make_shared<Module>();
  module->text = std::move(text);
  module->origin = std::move(origin);
  Parser(*module).run();
  for (Kernel& kernel : module->kernels) inline_calls(kernel, *module);
  return module;
}

}  // namespace gpubench::model::ptx
