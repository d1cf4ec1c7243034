#include "harness/platform/model/ptx/builder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "harness/platform/model/launch/symbols.hpp"
#include "harness/platform/model/ptx/library_calls.hpp"

namespace gpubench::model::ptx {
namespace {

const std::map<std::string_view, Build>& opcodes() {
  static const auto all = [] {
    std::map<std::string_view, Build> table;
    for (const auto& family :
         {integer_opcodes(), bit_opcodes(), float_opcodes(), compare_opcodes(), convert_opcodes(),
          move_opcodes(), memory_opcodes(), atomic_opcodes(), copy_opcodes(), warp_opcodes(),
          async_opcodes(), matrix_opcodes(), warpgroup_opcodes(), tensor_memory_opcodes(),
          cluster_opcodes(), multimem_opcodes(), library_opcodes()}) {
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
    {"%warpid", Special::warpid},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%envreg1", Special::envreg1},
    {"%envreg2", Special::envreg2},
};

}  // namespace

Builder::Builder(std::shared_ptr<const Module> module, const Kernel& kernel,
                 std::size_t shared_base)
    : program_(std::make_shared<Program>()), kernel_(kernel) {
  program_->module = std::move(module);
  program_->kernel = &kernel;
  program_->shared_base = shared_base;
  if (!kernel.unreadable.empty()) refuse(kernel.unreadable);
  add_register(8);  // always_defined
  add_register(8);  // nowhere
  lay_out_parameters();
  const std::set<std::string> named = named_symbols();
  lay_out_shared(named);
  lay_out_module_data(named);
  lay_out_local();
  lay_out_registers();
}

Register Builder::add_register(unsigned bytes) {
  const Register r{program_->file_bytes, program_->registers++, bytes};
  // A predicate is a mask; others have a place for each lane.
  program_->file_bytes += 64 * std::max(1u, (bytes * lanes + 63) / 64);
  return r;
}

bool Builder::has(std::string_view part) {
  bool found = false;
  for (std::size_t i = 1; i < instruction_->parts.size(); ++i) {
    if (instruction_->parts[i] == part) found = known_parts_[i] = true;
  }
  return found;
}

void Builder::accept(std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) has(part);
}

void Builder::accept_all_parts() { known_parts_.assign(known_parts_.size(), true); }

const Operand& Builder::operand(std::size_t i) {
  if (i >= instruction_->operands.size()) refuse("lacks an operand");
  known_operands_[i] = true;
  return instruction_->operands[i];
}

Type Builder::type() {
  for (std::size_t part = instruction_->parts.size(); part-- > 1;) {
    if (type_named(instruction_->parts[part])) return type_at(part);
  }
  refuse("has no type");
}

Type Builder::type_at(std::size_t part) {
  const auto& parts = instruction_->parts;
  const auto type = part < parts.size() ? type_named(parts[part]) : std::nullopt;
  if (!type) refuse("has no type where one is due");
  known_parts_[part] = true;
  return *type;
}

Register Builder::constant(std::uint64_t bits, unsigned bytes) {
  if (bytes == bytes_of(Type::pred)) {
    bits = bits != 0 ? 1 : 0;
  } else if (bytes < 8) {
    bits &= (std::uint64_t{1} << 8 * bytes) - 1;
  }
  const auto [found, is_new] = constants_.try_emplace({bits, bytes});
  if (is_new) {
    found->second = add_register(bytes);
    program_->constants.emplace_back(found->second, bits);
  }
  return found->second;
}

void Builder::check_kind(const Register& r, unsigned bytes) const {
  const unsigned of_predicates = bytes_of(Type::pred);
  if (r.number != nowhere && (r.bytes == of_predicates) != (bytes == of_predicates)) {
    refuse(bytes == of_predicates ? "has a number where it needs a predicate"
                                  : "has a predicate where it needs a number");
  }
}

Register Builder::carry() {
  if (!carry_) carry_ = add_register(bytes_of(Type::pred));
  return *carry_;
}

bool Builder::is_predicate(const Operand& o) const {
  const auto found = registers_.find(o.name);
  return found != registers_.end() && found->second.bytes == bytes_of(Type::pred);
}

Register Builder::negatable(const Operand& o, bool& is_negated) {
  Operand straight = o;
  is_negated = std::exchange(straight.negated, false);
  return source(straight, bytes_of(Type::pred));
}

Register Builder::source(const Operand& o, unsigned bytes) {
  if (o.negated) refuse("has a '!' that it does not know");
  switch (o.kind) {
    case Operand::Kind::reg: {
      const auto found = registers_.find(o.name);
      if (found != registers_.end()) {
        check_kind(found->second, bytes);
        return found->second;
      }
      const auto special = std::ranges::find(specials, o.name, &SpecialName::name);
      if (special == std::end(specials)) break;
      const Register r = add_register(4);
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
  check_kind(found->second, bytes);
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

Register Builder::address(const Operand& o, Space space, std::int64_t& offset) {
  if (o.kind != Operand::Kind::address) refuse("needs an address in brackets");
  offset = o.offset;
  const Operand& base = o.elements[0];
  if (base.kind == Operand::Kind::symbol) {
    Space own = Space::generic;
    const std::uint64_t at = address_of(base.name, own);
    const bool is_module_data = own == Space::global;
    if (is_module_data ? space != Space::global && space != Space::generic : own != space) {
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
  accept({"uni"});
  Op& op = add(nullptr);
  op.flow = Flow::branch;
  jumps_.emplace_back(program_->ops.size() - 1, operand(0).name);
}

void Builder::leave() {
  accept({"uni"});
  add(nullptr).flow = Flow::leave;
}

void Builder::refuse_what_is_left() const {
  for (std::size_t i = 1; i < known_parts_.size(); ++i) {
    if (!known_parts_[i])
      refuse("has the modifier ." + instruction_->parts[i] + ", which it does not know");
  }
  for (const bool known : known_operands_) {
    if (!known) refuse("has an operand that it does not know");
  }
}

void Builder::build(const Instruction& instruction) {
  instruction_ = &instruction;
  first_op_.push_back(static_cast<std::uint32_t>(program_->ops.size()));
  known_parts_.assign(instruction.parts.size(), false);
  known_operands_.assign(instruction.operands.size(), false);
  const std::string& name = instruction.parts[0];
  if (name == "bra") {
    branch();
  } else if (name == "ret" || name == "exit") {
    leave();
  } else {
    if (!instruction.refusal.empty()) refuse(instruction.refusal);
    const auto found = opcodes().find(name);
    if (found == opcodes().end()) unknown();
    found->second(*this);
    if (program_->ops.size() == first_op_.back()) unknown();
  }
  refuse_what_is_left();
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
  const std::string statement =
      instruction_ == nullptr ? "" : '\'' + one_line(instruction_->text) + "' ";
  throw PtxError("the PTX engine cannot run " + decoded_name(kernel_.name.c_str()) + ": " +
                 statement + why);
}

void Builder::unknown() const { refuse("is an instruction that it does not know"); }

std::shared_ptr<const Program> lower(std::shared_ptr<const Module> module, const Kernel& kernel,
                                     std::size_t shared_base) {
  return Builder(std::move(module), kernel, shared_base).finish();
}

}  // namespace gpubench::model::ptx
