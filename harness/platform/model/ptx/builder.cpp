#include "harness/platform/model/ptx/builder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <sstream>

#include "harness/platform/model/ptx/windows.hpp"

namespace gpubench::model::ptx {
namespace {

std::size_t aligned(std::size_t at, std::size_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

const std::map<std::string_view, Build>& opcodes() {
  static const auto all = [] {
    std::map<std::string_view, Build> table;
    for (const auto& family :
         {integer_opcodes(), float_opcodes(), compare_opcodes(), convert_opcodes(),
          memory_opcodes(), atomic_opcodes(), copy_opcodes(), warp_opcodes(), async_opcodes(),
          matrix_opcodes(), warpgroup_opcodes(), tensor_memory_opcodes(), cluster_opcodes(),
          multimem_opcodes()}) {
      for (const Opcode& opcode : family) table.emplace(opcode.name, opcode.build);
    }
    return table;
  }();
  return all;
}

struct SpecialName {
  std::string_view name;
  Special what;
};
constexpr SpecialName specials[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%envreg1", Special::envreg1},
    {"%envreg2", Special::envreg2},
};

// What symbols an operand names.
void visit_symbols(const Operand& o, const auto& visit) {
  if (o.kind == Operand::Kind::symbol) visit(o.name);
  for (const Operand& e : o.elements) visit_symbols(e, visit);
}

}  // namespace

Builder::Builder(std::shared_ptr<const Module> module, const Kernel& kernel,
                 std::size_t shared_base)
    : program_(std::make_shared<Program>()), kernel_(kernel) {
  program_->module = std::move(module);
  program_->kernel = &kernel;
  program_->shared_base = shared_base;
  add_register(8);  // always_defined
  add_register(8);  // nowhere
  lay_out_parameters();
  lay_out_shared();
  lay_out_local();
  lay_out_registers();
}

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

// Those variables that the kernel names, one after the other; the launch's own behind them.
void Builder::lay_out_shared() {
  std::set<std::string> named;
  for (const Instruction& i : kernel_.instructions) {
    for (const Operand& o : i.operands) {
      visit_symbols(o, [&](const std::string& name) { named.insert(name); });
    }
  }
  std::vector<const Variable*> all;
  for (const auto& [name, v] : program_->module->shared) all.push_back(&v);
  for (const Variable& v : kernel_.shared) all.push_back(&v);
  std::erase_if(all, [&](const Variable* v) { return !named.contains(v->name); });
  std::ranges::stable_sort(all, [](const Variable* a, const Variable* b) {
    return std::pair(a->is_dynamic, b->alignment) < std::pair(b->is_dynamic, a->alignment);
  });
  std::size_t at = program_->shared_base;
  for (const Variable* v : all) {
    at = aligned(at, std::max<std::size_t>(v->alignment, 1));
    symbols_[v->name] = {Space::shared, at};
    at += v->bytes;
  }
  program_->static_shared_bytes = at - program_->shared_base;
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

Register Builder::add_register(unsigned bytes) {
  const Register r{program_->file_bytes, program_->registers++, bytes};
  // A predicate is a mask; others have a place for each lane.
  program_->file_bytes += 64 * ((bytes * lanes + 63) / 64);
  return r;
}

const Operand& Builder::operand(std::size_t i) const {
  if (i >= instruction_->operands.size()) refuse("lacks an operand");
  return instruction_->operands[i];
}

Type Builder::type() const {
  for (auto part = instruction_->parts.rbegin(); part != instruction_->parts.rend(); ++part) {
    if (const auto type = type_named(*part)) return *type;
  }
  refuse("has no type");
}

Type Builder::type_at(std::size_t part) const {
  const auto& parts = instruction_->parts;
  const auto type = part < parts.size() ? type_named(parts[part]) : std::nullopt;
  if (!type) refuse("has no type where one is due");
  return *type;
}

Register Builder::constant(std::uint64_t bits, unsigned bytes) {
  if (bytes < 8) bits &= (std::uint64_t{1} << 8 * bytes) - 1;
  const auto [found, is_new] = constants_.try_emplace({bits, bytes});
  if (is_new) {
    found->second = add_register(bytes);
    program_->constants.emplace_back(found->second, bits);
  }
  return found->second;
}

Register Builder::source(const Operand& o, unsigned bytes) {
  switch (o.kind) {
    case Operand::Kind::reg: {
      const auto found = registers_.find(o.name);
      if (found != registers_.end()) return found->second;
      const auto special = std::ranges::find(specials, o.name, &SpecialName::name);
      if (special == std::end(specials)) break;
      const Register r = add_register(bytes);
      program_->specials.push_back({special->what, r});
      registers_.emplace(o.name, r);
      return r;
    }
    case Operand::Kind::immediate: {
      std::uint64_t bits = o.bits;
      if (o.is_float && o.width != 8 * bytes) {
        if (o.width == 64 && bytes == 4) {
          bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
        } else {
          refuse("has a floating-point constant of another width");
        }
      }
      return constant(bits, bytes);
    }
    case Operand::Kind::symbol: {
      Space space = Space::generic;
      const std::uint64_t at = address_of(o.name, space);
      return constant(at + static_cast<std::uint64_t>(o.offset), bytes);
    }
    default:
      break;
  }
  refuse(o.name.starts_with('%') ? "reads " + o.name + ", which the model does not have"
                                 : "has an operand that is neither register nor number");
}

Register Builder::destination(const Operand& o, unsigned bytes) {
  if (o.kind == Operand::Kind::sink) return {0, nowhere, bytes};
  const auto found = registers_.find(o.name);
  if (o.kind != Operand::Kind::reg || found == registers_.end()) {
    refuse("writes to what is no register");
  }
  return found->second;
}

std::vector<Register> Builder::vector_of(const Operand& o, unsigned bytes, bool written) {
  std::vector<Register> all;
  const auto one = [&](const Operand& e) {
    all.push_back(written ? destination(e, bytes) : source(e, bytes));
  };
  if (o.kind == Operand::Kind::vector) {
    for (const Operand& e : o.elements) one(e);
  } else {
    one(o);
  }
  return all;
}

std::uint64_t Builder::address_of(const std::string& symbol, Space& space) const {
  const auto found = symbols_.find(symbol);
  if (found == symbols_.end()) refuse("names '" + symbol + "', which nothing declares");
  space = found->second.space;
  return found->second.address;
}

Register Builder::address(const Operand& o, Space space, std::int64_t& offset) {
  if (o.kind != Operand::Kind::address) refuse("needs an address in brackets");
  offset = o.offset;
  const Operand& base = o.elements[0];
  if (base.kind == Operand::Kind::symbol) {
    Space own = Space::generic;
    const std::uint64_t at = address_of(base.name, own);
    if (own != space && !(own == Space::global && space == Space::constant)) {
      refuse("names '" + base.name + "', which lies in another space");
    }
    return constant(at, 8);
  }
  return source(base, 8);
}

Extra& Builder::extra() { return program_->extras.emplace_back(); }

Op& Builder::add(Handler run) {
  Op& op = program_->ops.emplace_back();
  op.run = run;
  op.instruction = static_cast<std::uint32_t>(instruction_ - kernel_.instructions.data());
  if (!instruction_->guard.empty()) {
    const auto found = registers_.find(instruction_->guard);
    if (found == registers_.end()) refuse("has a guard that is no register");
    op.is_guarded = true;
    op.guard = found->second.offset;
    op.guard_number = found->second.number;
    op.guard_negated = instruction_->guard_negated;
  }
  return op;
}

Op& Builder::add_waiting(Waiter wait) {
  Op& op = add(nullptr);
  op.flow = Flow::wait;
  op.wait = wait;
  return op;
}

void Builder::set_destination(Op& op, const Register& r) {
  op.d = r.offset;
  op.dn = r.number;
}
void Builder::set_a(Op& op, const Register& r) {
  op.a = r.offset;
  op.an = r.number;
}
void Builder::set_b(Op& op, const Register& r) {
  op.b = r.offset;
  op.bn = r.number;
}
void Builder::set_c(Op& op, const Register& r) {
  op.c = r.offset;
  op.cn = r.number;
}

// Operand 0 is written, up to three behind it are read.
Op& Builder::add_simple(Handler run, unsigned destination_bytes,
                        std::span<const unsigned> source_bytes) {
  if (operand_count() != 1 + source_bytes.size()) refuse("has another number of operands");
  Op& op = add(run);
  const Register d = destination(operand(0), destination_bytes);
  set_destination(op, d);
  if (d.bytes != destination_bytes) refuse("writes to a register of another width");
  constexpr void (*set[])(Op&, const Register&) = {set_a, set_b, set_c};
  for (std::size_t i = 0; i < source_bytes.size(); ++i) {
    const Register r = source(operand(i + 1), source_bytes[i]);
    if (r.bytes != source_bytes[i]) refuse("reads a register of another width");
    set[i](op, r);
  }
  return op;
}

void Builder::branch() {
  Op& op = add(nullptr);
  op.flow = Flow::branch;
  jumps_.emplace_back(program_->ops.size() - 1, operand(0).name);
}

void Builder::leave() { add(nullptr).flow = Flow::leave; }

void Builder::build(const Instruction& instruction) {
  instruction_ = &instruction;
  first_op_.push_back(static_cast<std::uint32_t>(program_->ops.size()));
  const std::string& name = instruction.parts[0];
  if (name == "bra") return branch();
  if (name == "ret" || name == "exit") return leave();
  const auto found = opcodes().find(name);
  if (found == opcodes().end()) unknown();
  found->second(*this);
}

std::shared_ptr<const Program> Builder::finish() {
  for (const Instruction& i : kernel_.instructions) build(i);
  first_op_.push_back(static_cast<std::uint32_t>(program_->ops.size()));
  instruction_ = nullptr;
  for (const auto& [op, label] : jumps_) {
    program_->ops[op].target = first_op_[kernel_.labels.at(label)];
  }
  // Whoever comes to the end has ended.
  Op end;
  end.flow = Flow::leave;
  end.instruction = static_cast<std::uint32_t>(kernel_.instructions.size() - 1);
  program_->ops.push_back(end);
  find_reconvergence(program_->ops);
  return program_;
}

void Builder::refuse(const std::string& why) const {
  std::ostringstream what;
  what << "the PTX engine cannot run " << kernel_.name << ": ";
  if (instruction_ != nullptr) what << '\'' << instruction_->text << "' ";
  throw PtxError(what.str() + why);
}

void Builder::unknown() const { refuse("is an instruction that it does not know"); }

std::shared_ptr<const Program> lower(std::shared_ptr<const Module> module, const Kernel& kernel,
                                     std::size_t shared_base) {
  return Builder(std::move(module), kernel, shared_base).finish();
}

std::string Program::place(const Op& op) const {
  const Instruction& i = kernel->instructions[op.instruction];
  if (i.line.file >= module->files.size() || i.line.line == 0) return "?";
  const std::string& file = module->files[i.line.file];
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(i.line.line);
}

std::string Program::describe(const Op& op) const {
  const std::string_view text = kernel->instructions[op.instruction].text;
  constexpr std::size_t most = 120;
  std::ostringstream line;
  line << '\'';
  for (const char c : text.substr(0, most)) line << (c == '\n' || c == '\t' ? ' ' : c);
  line << (text.size() > most ? " ...' (" : "' (") << place(op) << ')';
  return line.str();
}

}  // namespace gpubench::model::ptx
