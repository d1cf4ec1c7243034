#include "harness/platform/model/ptx/passed.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/platform/model/ptx/types.hpp"

namespace gpubench::model::ptx {
namespace {

// A load or a store of a passed variable.
struct PassedAccess {
  const Operand* address;
  const Operand* value;
  Type type;
  bool loads;
  const std::string& variable() const { return address->elements[0].name; }
  std::vector<Operand> elements() const {
    return value->kind == Operand::Kind::vector ? value->elements : std::vector{*value};
  }
};

class Placer {
 public:
  explicit Placer(Kernel& kernel) : kernel_(kernel) {}

  void run() {
    for (const Instruction& i : kernel_.instructions) {
      if (const auto access = access_of(i)) look_at(*access);
    }
    for (const auto& [name, variable] : variables_) {
      if (!variable.is_memory) continue;
      Variable local;
      local.name = name;
      local.bytes = variable.end;
      local.alignment = 16;
      kernel_.local.push_back(std::move(local));
    }
    std::vector<std::size_t> begins;
    for (const Instruction& i : std::exchange(kernel_.instructions, {})) {
      begins.push_back(kernel_.instructions.size());
      place(i);
    }
    begins.push_back(kernel_.instructions.size());
    for (auto& [name, at] : kernel_.labels) at = begins[at];
  }

 private:
  struct Passed {
    std::map<std::int64_t, unsigned> widths;  // by offset [bytes]
    std::size_t end = 0;
    bool is_memory = false;
  };

  std::optional<PassedAccess> access_of(const Instruction& i) const {
    const bool loads = i.parts[0] == "ld";
    if ((!loads && i.parts[0] != "st") || !i.has("param") || i.operands.size() != 2) return {};
    const Operand& address = i.operands[loads ? 1 : 0];
    const auto type = type_named(i.parts.back());
    if (address.kind != Operand::Kind::address || !type) return {};
    if (!kernel_.passed.contains(address.elements[0].name)) return {};
    return PassedAccess{&address, &i.operands[loads ? 0 : 1], *type, loads};
  }

  void look_at(const PassedAccess& access) {
    Passed& variable = variables_[access.variable()];
    const unsigned width = bytes_of(access.type);
    std::int64_t at = access.address->offset;
    for (const Operand& element : access.elements()) {
      const auto [known, is_new] = variable.widths.emplace(at, width);
      const auto next = std::next(known);
      const bool overlaps = known->second != width ||
                            (next != variable.widths.end() && at + width > next->first) ||
                            (known != variable.widths.begin() &&
                             std::prev(known)->first + std::prev(known)->second > at);
      const bool converts = element.kind == Operand::Kind::reg && width_of(element) != width;
      variable.is_memory = variable.is_memory || overlaps || converts;
      at += width;
      variable.end = std::max(variable.end, static_cast<std::size_t>(at));
    }
  }

  unsigned width_of(const Operand& o) const {
    const auto found = kernel_.registers.find(o.name);
    const auto type = found == kernel_.registers.end() ? std::nullopt : type_named(found->second);
    return type ? bytes_of(*type) : 0;
  }

  void place(Instruction i) {
    const auto access = access_of(i);
    if (!access) {
      kernel_.instructions.push_back(std::move(i));
    } else if (variables_[access->variable()].is_memory) {
      std::ranges::replace(i.parts, "param", "local");
      kernel_.instructions.push_back(std::move(i));
    } else {
      move_elements(i, *access);
    }
  }

  void move_elements(const Instruction& i, const PassedAccess& access) {
    std::int64_t at = access.address->offset;
    for (const Operand& element : access.elements()) {
      Operand there;
      there.kind = Operand::Kind::reg;
      there.name = access.variable() + '+' + std::to_string(at);
      kernel_.registers.emplace(there.name, 'b' + std::to_string(8 * bytes_of(access.type)));
      Instruction move = i;
      move.opcode = "mov." + i.parts.back();
      move.parts = {"mov", i.parts.back()};
      move.operands = access.loads ? std::vector{element, there} : std::vector{there, element};
      kernel_.instructions.push_back(std::move(move));
      at += bytes_of(access.type);
    }
  }

  Kernel& kernel_;
  std::map<std::string, Passed> variables_;
};

}  // namespace

void place_passed(Kernel& kernel) { Placer(kernel).run(); }

}  // namespace gpubench::model::ptx
