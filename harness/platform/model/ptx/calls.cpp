#include "harness/platform/model/ptx/calls.hpp"

#include <algorithm>
#include <utility>

#include "harness/platform/model/ptx/types.hpp"

namespace gpubench::model::ptx {
namespace {

// What a function's own names are where it is called.
struct Call {
  const Kernel* function = nullptr;
  std::string ending;                            // of its registers, labels and local variables
  std::string end;                               // the label behind the call
  std::map<std::string, std::string> variables;  // parameters and results: those of the caller
};

Operand symbol(std::string name, Operand::Kind kind) {
  Operand o;
  o.kind = kind;
  o.name = std::move(name);
  return o;
}

class Inliner {
 public:
  Inliner(Kernel& kernel, const Module& module) : kernel_(kernel), module_(module) {}

  void run() {
    const std::vector<Instruction> body = std::exchange(kernel_.instructions, {});
    const auto labels = std::exchange(kernel_.labels, {});
    expand(body, labels, {});
  }

 private:
  void expand(const std::vector<Instruction>& body,
              const std::map<std::string, std::size_t>& labels, const Call& within) {
    std::vector<std::size_t> begins;  // of each instruction, among the kernel's
    for (const Instruction& i : body) {
      begins.push_back(kernel_.instructions.size());
      add(i, within);
    }
    begins.push_back(kernel_.instructions.size());
    for (const auto& [name, at] : labels) kernel_.labels[name + within.ending] = begins[at];
  }

  void add(const Instruction& original, const Call& within) {
    Instruction i = original;
    if (!i.guard.empty()) i.guard += within.ending;
    for (Operand& o : i.operands) rename(o, within);
    const std::string& name = i.parts[0];
    if (name == "call" && call(i)) return;
    if ((name == "ld" || name == "st") && i.has("param") && pass(i)) return;
    if (name == "ret" && within.function != nullptr) {
      i.parts[0] = "bra";
      i.operands = {symbol(within.end, Operand::Kind::symbol)};
    }
    kernel_.instructions.push_back(std::move(i));
  }

  void rename(Operand& o, const Call& within) const {
    for (Operand& e : o.elements) rename(e, within);
    const auto passed = within.variables.find(o.name);
    if (passed != within.variables.end()) {
      o.name = passed->second;
    } else if (within.function != nullptr && is_own(o, *within.function)) {
      o.name += within.ending;
    }
  }
  static bool is_own(const Operand& o, const Kernel& f) {
    const auto is_local = [&](const Variable& v) { return v.name == o.name; };
    return f.registers.contains(o.name) || f.labels.contains(o.name) ||
           std::ranges::any_of(f.local, is_local);
  }

  // "call.uni (result), function, (arguments);" without what a function has none of.
  bool call(const Instruction& i) {
    const auto is_name = [](const Operand& o) { return o.kind == Operand::Kind::symbol; };
    const auto callee = std::ranges::find_if(i.operands, is_name);
    if (!i.guard.empty() || callee == i.operands.end()) return false;
    const auto found = module_.functions.find(callee->name);
    if (found == module_.functions.end() || !found->second.unreadable.empty()) return false;
    const Kernel& f = found->second;
    if (std::ranges::find(active_, &f) != active_.end()) return false;
    Call within{&f, '#' + std::to_string(++calls_), {}, {}};
    within.end = "behind" + within.ending;
    const bool has_results = callee != i.operands.begin();
    const bool has_arguments = callee + 1 != i.operands.end();
    const bool fits = bind(has_results ? i.operands.front().elements : none_, f.results, within) &&
                      bind(has_arguments ? (callee + 1)->elements : none_, f.parameters, within);
    if (!fits) return false;
    for (const auto& [name, type] : f.registers) kernel_.registers[name + within.ending] = type;
    for (const std::string& name : f.passed) {
      within.variables.emplace(name, name + within.ending);
      kernel_.passed.insert(name + within.ending);
    }
    for (Variable v : f.local) {
      v.name += within.ending;
      kernel_.local.push_back(std::move(v));
    }
    for (const Variable& v : f.shared) {  // all calls have the same
      const auto is_known = [&](const Variable& known) { return known.name == v.name; };
      if (std::ranges::none_of(kernel_.shared, is_known)) kernel_.shared.push_back(v);
    }
    active_.push_back(&f);
    expand(f.instructions, f.labels, within);
    active_.pop_back();
    kernel_.labels[within.end] = kernel_.instructions.size();
    return true;
  }

  static bool bind(const std::vector<Operand>& given, const std::vector<Variable>& wanted,
                   Call& within) {
    if (given.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < given.size(); ++i) {
      within.variables.emplace(wanted[i].name, given[i].name);
    }
    return true;
  }

  // What is stored to or loaded from a variable that a call passes: moves of registers, one for
  // each element.
  bool pass(const Instruction& i) {
    const bool loads = i.parts[0] == "ld";
    if (i.operands.size() != 2) return false;
    const Operand& address = i.operands[loads ? 1 : 0];
    const Operand& value = i.operands[loads ? 0 : 1];
    if (address.kind != Operand::Kind::address) return false;
    const std::string& variable = address.elements[0].name;
    const auto type = type_named(i.parts.back());
    if (!kernel_.passed.contains(variable) || !type) return false;
    std::int64_t at = address.offset;
    const std::vector<Operand> one{value};
    for (const Operand& element : value.kind == Operand::Kind::vector ? value.elements : one) {
      const std::string name = variable + '+' + std::to_string(at);
      kernel_.registers.emplace(name, 'b' + std::to_string(8 * bytes_of(*type)));
      Instruction move = i;
      move.opcode = "mov." + i.parts.back();
      move.parts = {"mov", i.parts.back()};
      const Operand there = symbol(name, Operand::Kind::reg);
      move.operands = loads ? std::vector{element, there} : std::vector{there, element};
      kernel_.instructions.push_back(std::move(move));
      at += bytes_of(*type);
    }
    return true;
  }

  Kernel& kernel_;
  const Module& module_;
  const std::vector<Operand> none_;
  std::vector<const Kernel*> active_;  // functions, from the outermost call on
  unsigned calls_ = 0;
};

}  // namespace

void inline_calls(Kernel& kernel, const Module& module) {
  const auto is_call = [](const Instruction& i) { return i.parts[0] == "call"; };
  if (std::ranges::any_of(kernel.instructions, is_call)) Inliner(kernel, module).run();
}

}  // namespace gpubench::model::ptx
