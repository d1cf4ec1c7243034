// What turns an instruction into operations: tables of opcodes, and what their entries build with.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "harness/platform/model/ptx/program.hpp"

namespace gpubench::model::ptx {

class Builder {
 public:
  Builder(std::shared_ptr<const Module> module, const Kernel& kernel, std::size_t shared_base);
  std::shared_ptr<const Program> finish();

  // What no builder has asked for, of an instruction's parts and operands, is refused in the end.
  const Instruction& instruction() const { return *instruction_; }
  bool has(std::string_view part);
  // Parts that change nothing here, should the instruction have them.
  void accept(std::initializer_list<std::string_view> parts);
  void accept_all_parts();  // all of them have been compared with what is known
  // The last part that is a type.
  Type type();
  Type type_at(std::size_t part);
  const Operand& operand(std::size_t i);
  std::size_t operand_count() const { return instruction_->operands.size(); }

  // Widths are in bytes of a lane; a predicate's is that of Type::pred, and no other register's.
  // A register to write; a sink's is one that nobody reads.
  Register destination(const Operand& operand, unsigned bytes);
  // A register to read, or one that holds the constant in every lane.
  Register source(const Operand& operand, unsigned bytes);
  bool is_predicate(const Operand& operand) const;
  // A predicate to read that may stand with a '!'.
  Register negatable(const Operand& operand, bool& is_negated);
  Register constant(std::uint64_t bits, unsigned bytes);
  // One that the text does not name.
  Register scratch(unsigned bytes) { return add_register(bytes); }
  Register carry();  // that sums of several words have
  std::vector<Register> vector_of(const Operand& operand, unsigned bytes, bool written);
  // The registers of the address in brackets (its first element) and what is added to it.
  Register address(const Operand& operand, Space space, std::int64_t& offset);
  Extra& extra();
  bool has_module_data() const { return !program_->module_data.empty(); }
  void uses_warpgroups() { program_->uses_warpgroups = true; }

  // Appends an operation with the instruction's guard.
  Op& add(Handler run);
  Op& add_waiting(Waiter wait);
  Op& add_simple(Handler run, unsigned destination_bytes, std::span<const unsigned> source_bytes);
  static void set_destination(Op& op, const Register& r);
  static void set_a(Op& op, const Register& r);
  static void set_b(Op& op, const Register& r);
  static void set_c(Op& op, const Register& r);

  [[noreturn]] void refuse(const std::string& why) const;
  void unknown() const;  // refuses

 private:
  void lay_out_parameters();
  std::set<std::string> named_symbols() const;
  void require_usable(const Variable& v) const;
  void lay_out_shared(const std::set<std::string>& named);
  void lay_out_module_data(const std::set<std::string>& named);
  void lay_out_local();
  void lay_out_registers();
  Register add_register(unsigned bytes);
  void check_kind(const Register& r, unsigned bytes) const;
  void refuse_what_is_left() const;
  std::uint64_t address_of(const std::string& symbol, Space& space) const;
  void build(const Instruction& instruction);
  void branch();
  void leave();

  std::shared_ptr<Program> program_;
  const Kernel& kernel_;
  const Instruction* instruction_ = nullptr;
  std::vector<bool> known_parts_, known_operands_;  // of the instruction
  std::map<std::string, Register> registers_;
  std::map<std::pair<std::uint64_t, unsigned>, Register> constants_;
  struct Symbol {
    Space space;
    std::uint64_t address;
  };
  std::map<std::string, Symbol> symbols_;
  std::vector<std::uint32_t> first_op_;  // of each instruction
  std::vector<std::pair<std::size_t, std::string>> jumps_;
  std::optional<Register> carry_;
};

using Build = void (*)(Builder&);
struct Opcode {
  std::string_view name;  // the part before the first dot
  Build build;
};
// One table a family of instructions.
std::span<const Opcode> integer_opcodes();
std::span<const Opcode> float_opcodes();
std::span<const Opcode> compare_opcodes();
std::span<const Opcode> convert_opcodes();
std::span<const Opcode> move_opcodes();
std::span<const Opcode> bit_opcodes();
std::span<const Opcode> memory_opcodes();
std::span<const Opcode> atomic_opcodes();
std::span<const Opcode> copy_opcodes();
std::span<const Opcode> warp_opcodes();
std::span<const Opcode> async_opcodes();
std::span<const Opcode> matrix_opcodes();
std::span<const Opcode> warpgroup_opcodes();
std::span<const Opcode> tensor_memory_opcodes();
std::span<const Opcode> cluster_opcodes();
std::span<const Opcode> multimem_opcodes();
void build_with_carry(Builder& b);       // sums with ".cc", and those that take a carry
void build_cluster_barrier(Builder& b);  // the forms of "barrier" for a cluster

}  // namespace gpubench::model::ptx
