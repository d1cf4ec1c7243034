// PTX text as its statements say it: kernels, their parameters, registers, variables, instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpubench::model::ptx {

// What cannot be run, in one line: text that is no PTX, an instruction that nobody wrote.
class PtxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Operand {
  enum class Kind : std::uint8_t {
    reg,        // name
    immediate,  // bits; of a floating-point one, `width` is that of its notation
    symbol,     // name + offset: a variable's address
    address,    // [base + offset]: element 0, with `offset`
    vector,     // {a, b, ...}: the elements
    pair,       // a|b: the elements
    sink,       // _
  };
  Kind kind = Kind::sink;
  bool negated = false;  // !p
  bool is_float = false;
  unsigned width = 0;  // bits of a floating-point immediate
  std::string name{};
  std::uint64_t bits = 0;
  std::int64_t offset = 0;
  std::vector<Operand> elements{};
};

// Where in the source a statement comes from.
struct Line {
  std::uint32_t file = 0, line = 0;
};

struct Instruction {
  std::string opcode;              // "ld.global.f32"
  std::vector<std::string> parts;  // split at its dots
  std::string guard;               // register, or ""
  bool guard_negated = false;
  std::vector<Operand> operands;
  std::string_view text;  // in the module's
  Line line;
  std::string refusal{};  // of a call that stays one: why nothing can run it

  bool has(std::string_view part) const;
};

// Where a variable's initial value holds the address of another.
struct Address {
  std::size_t at = 0;
  std::string name;
  std::uint64_t offset = 0;
};

struct Variable {
  std::string name;
  std::size_t bytes = 0;  // 0 of an extern array
  std::size_t alignment = 1;
  bool is_dynamic = false;  // extern .shared
  // A module's global and constant ones also have:
  std::vector<std::byte> initial{};
  std::vector<Address> addresses{};
  std::string unusable{};  // why no kernel can use it: "is declared elsewhere"
};

struct Kernel {  // or a function
  std::string name;
  std::vector<Variable> parameters;
  std::vector<Variable> results;                 // of a function
  std::set<std::string> passed;                  // what its calls pass and return, by name
  std::map<std::string, std::string> registers;  // name to type ("b32")
  std::vector<Variable> local;                   // a thread each
  std::vector<Variable> shared;                  // declared in its body
  std::vector<Instruction> instructions;
  std::map<std::string, std::size_t> labels;  // to the next instruction's index
  std::string unreadable;                     // why its body could not be read, or ""
};

struct Module {
  std::string origin;  // for messages: where the text comes from
  std::string text;
  std::vector<std::string> files;  // by number of .file
  std::vector<Kernel> kernels;
  std::map<std::string, Kernel> functions;
  std::map<std::string, Variable> shared;
  std::map<std::string, Variable> variables;  // global and constant
};

// What cannot be read is left to the kernels that need it. PtxError: the text ends too early.
std::shared_ptr<const Module> parse(std::string text, std::string origin);

}  // namespace gpubench::model::ptx
