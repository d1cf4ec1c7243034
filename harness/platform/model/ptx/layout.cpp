// Where a kernel's parameters, variables and registers lie.
#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "harness/platform/model/launch/symbols.hpp"
#include "harness/platform/model/ptx/builder.hpp"
#include "harness/platform/model/ptx/windows.hpp"

namespace gpubench::model::ptx {
namespace {

std::size_t aligned(std::size_t at, std::size_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

// What symbols an operand names.
void visit_symbols(const Operand& o, const auto& visit) {
  if (o.kind == Operand::Kind::symbol) visit(o.name);
  for (const Operand& e : o.elements) visit_symbols(e, visit);
}

}  // namespace

void Builder::lay_out_parameters() {
  std::size_t at = 0;
  for (const Variable& v : kernel_.parameters) {
    at = aligned(at, v.alignment);
    symbols_[v.name] = {Space::parameter, at};
    program_->parameter_offsets.push_back(at);
    at += v.bytes;
  }
  program_->parameter_bytes = at;
}

std::set<std::string> Builder::named_symbols() const {
  std::set<std::string> named;
  for (const Instruction& i : kernel_.instructions) {
    for (const Operand& o : i.operands) {
      visit_symbols(o, [&](const std::string& name) { named.insert(name); });
    }
  }
  return named;
}

void Builder::require_usable(const Variable& v) const {
  if (!v.unusable.empty()) refuse("names the variable '" + v.name + "', which " + v.unusable);
}

// Those variables that the kernel names, one after the other; the launch's own behind them.
void Builder::lay_out_shared(const std::set<std::string>& named) {
  std::vector<const Variable*> all;
  for (const auto& [name, v] : program_->module->shared) all.push_back(&v);
  for (const Variable& v : kernel_.shared) all.push_back(&v);
  std::erase_if(all, [&](const Variable* v) { return !named.contains(v->name); });
  std::ranges::stable_sort(all, [](const Variable* a, const Variable* b) {
    return std::pair(a->is_dynamic, b->alignment) < std::pair(b->is_dynamic, a->alignment);
  });
  std::size_t at = program_->shared_base;
  for (const Variable* v : all) {
    require_usable(*v);
    at = aligned(at, std::max<std::size_t>(v->alignment, 1));
    symbols_[v->name] = {Space::shared, at};
    at += v->bytes;
  }
  program_->static_shared_bytes = at - program_->shared_base;
}

// Those at module scope, and those whose addresses they hold. No host's code can reach them, so
// that a kernel finds their initial values; what it stores there it would have to find again.
void Builder::lay_out_module_data(const std::set<std::string>& named) {
  const auto& variables = program_->module->variables;
  std::vector<const Variable*> all;
  const std::function<void(const std::string&)> visit = [&](const std::string& name) {
    const auto found = variables.find(name);
    if (found == variables.end() || symbols_.contains(name)) return;
    const Variable& v = found->second;
    require_usable(v);
    std::vector<std::byte>& data = program_->module_data;
    const std::size_t at = aligned(data.size(), std::max<std::size_t>(v.alignment, 1));
    symbols_[name] = {Space::global, module_window + at};
    data.resize(at);
    data.insert(data.end(), v.initial.begin(), v.initial.end());
    all.push_back(&v);
    for (const Address& address : v.addresses) visit(address.name);
  };
  for (const std::string& name : named) visit(name);
  for (const Variable* v : all) {
    for (const Address& address : v->addresses) {
      const auto of = symbols_.find(address.name);
      if (of == symbols_.end()) {
        refuse("names the variable '" + v->name + "', which holds the address of " + address.name);
      }
      const std::uint64_t value = of->second.address + address.offset;
      const std::uint64_t from = symbols_.at(v->name).address - module_window + address.at;
      std::memcpy(program_->module_data.data() + from, &value, sizeof value);
    }
  }
}

void Builder::lay_out_local() {
  std::size_t at = 0;
  for (const Variable& v : kernel_.local) {
    at = aligned(at, v.alignment);
    symbols_[v.name] = {Space::local, at};
    at += v.bytes;
  }
  program_->local_bytes = aligned(at, 16);
}

void Builder::lay_out_registers() {
  for (const auto& [name, type] : kernel_.registers) {
    const auto known = type_named(type);
    if (!known) throw PtxError(program_->module->origin + ": register of type '" + type + "'");
    registers_[name] = add_register(bytes_of(*known));
  }
}

std::uint64_t Builder::address_of(const std::string& symbol, Space& space) const {
  const auto found = symbols_.find(symbol);
  if (found == symbols_.end()) {
    refuse(program_->module->functions.contains(symbol)
               ? "takes the address of the function " + decoded_name(symbol.c_str())
               : "names '" + symbol + "', which nothing declares");
  }
  space = found->second.space;
  return found->second.address;
}

}  // namespace gpubench::model::ptx
