#include "harness/platform/model/ptx/calls.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "harness/platform/model/launch/symbols.hpp"
#include "harness/platform/model/ptx/library_calls.hpp"
#include "harness/platform/model/ptx/passed.hpp"

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

constexpr const char* misfit = " with another number of arguments or results than it has";

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
    if (name == "call") {
      i.refusal = call(i);
      if (i.refusal.empty()) return;
    }
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

  // "call.uni (result), function, (arguments);" without what a function has none of. Returns why
  // it cannot be run, or "".
  std::string call(const Instruction& i) {
    const auto is_name = [](const Operand& o) { return o.kind != Operand::Kind::vector; };
    const auto callee = std::ranges::find_if(i.operands, is_name);
    if (callee == i.operands.end()) return "calls nothing";
    if (callee->kind != Operand::Kind::symbol) return "calls through a pointer";
    const std::string what = "calls " + decoded_name(callee->name.c_str());
    const auto found = module_.functions.find(callee->name);
    const auto results = std::span(i.operands.begin(), callee);
    const auto arguments = std::span(callee + 1, i.operands.end());
    if (found == module_.functions.end()) {
      const LibraryFunction* const f = library_function(callee->name);
      if (f == nullptr) return what + ", which its PTX does not define";
      return call_library(i, *f, elements_of(results), elements_of(arguments)) ? "" : what + misfit;
    }
    const Kernel& f = found->second;
    if (!f.unreadable.empty()) return what + ", which cannot be read: " + f.unreadable;
    if (std::ranges::find(active_, &f) != active_.end()) return what + ", which calls itself";
    Call within{&f, '#' + std::to_string(++calls_), {}, {}};
    within.end = "behind" + within.ending;
    const bool fits = bind(elements_of(results), f.results, within) &&
                      bind(elements_of(arguments), f.parameters, within);
    if (!fits) return what + misfit;
    if (!i.guard.empty()) jump_over(i, within.end);
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
    return "";
  }

  // What stands in the brackets on one side of the function's name.
  static std::vector<Operand> elements_of(std::span<const Operand> side) {
    return side.empty() ? std::vector<Operand>() : side.front().elements;
  }

  // Loads of the arguments, an instruction of the function's name, and a store of the result.
  bool call_library(const Instruction& i, const LibraryFunction& f,
                    const std::vector<Operand>& results, const std::vector<Operand>& arguments) {
    const bool has_result = f.result > 0;
    if (arguments.size() != f.arguments.size() || results.size() != has_result) return false;
    Instruction run = i;
    run.opcode = f.name;
    run.parts = {run.opcode};
    run.operands.clear();
    const std::string ending = '#' + std::to_string(++calls_);
    const auto own_register = [&](unsigned bytes) {
      const std::string name = "value" + std::to_string(run.operands.size()) + ending;
      kernel_.registers[name] = 'b' + std::to_string(8 * bytes);
      run.operands.push_back(symbol(name, Operand::Kind::reg));
      return run.operands.back();
    };
    const auto pass = [&](bool loads, unsigned bytes, const Operand& value, const Operand& passed) {
      Operand address;
      address.kind = Operand::Kind::address;
      address.elements = {passed};
      Instruction access = i;
      access.parts = {loads ? "ld" : "st", "param", 'b' + std::to_string(8 * bytes)};
      access.opcode = access.parts[0] + ".param." + access.parts[2];
      access.operands = loads ? std::vector{value, address} : std::vector{address, value};
      kernel_.instructions.push_back(std::move(access));
    };
    if (has_result) own_register(f.result);
    const auto* bytes = f.arguments.begin();
    for (const Operand& argument : arguments) {
      pass(true, *bytes, own_register(*bytes), argument);
      ++bytes;
    }
    kernel_.instructions.push_back(run);
    if (has_result) pass(false, f.result, run.operands[0], results[0]);
    return true;
  }

  // Lanes for which a call's guard does not hold.
  void jump_over(const Instruction& call, const std::string& end) {
    Instruction jump = call;
    jump.opcode = "bra";
    jump.parts = {"bra"};
    jump.guard_negated = !call.guard_negated;
    jump.operands = {symbol(end, Operand::Kind::symbol)};
    kernel_.instructions.push_back(std::move(jump));
  }

  static bool bind(const std::vector<Operand>& given, const std::vector<Variable>& wanted,
                   Call& within) {
    if (given.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < given.size(); ++i) {
      within.variables.emplace(wanted[i].name, given[i].name);
    }
    return true;
  }

  Kernel& kernel_;
  const Module& module_;
  std::vector<const Kernel*> active_;  // functions, from the outermost call on
  unsigned calls_ = 0;
};

}  // namespace

void inline_calls(Kernel& kernel, const Module& module) {
  const auto is_call = [](const Instruction& i) { return i.parts[0] == "call"; };
  if (std::ranges::none_of(kernel.instructions, is_call)) return;
  Inliner(kernel, module).run();
  place_passed(kernel);
}

}  // namespace gpubench::model::ptx
