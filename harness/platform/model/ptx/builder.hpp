// What turns an instruction into operations: tables of opcodes, and what their entries build with.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "harness/platform/model/ptx/program.hpp"

namespace gpubench::model::ptx {

class Builder {
 public:
  Builder(std::shared_ptr<const Module> module, const Kernel& kernel, std::size_t shared_base);
  std::shared_ptr<const Program> finish();

  const Instruction& instruction() const { return *instruction_; }
  // The last part that is a type.
  Type type() const;
  Type type_at(std::size_t part) const;
  const Operand& operand(std::size_t i) const;
  std::size_t operand_count() const { return instruction_->operands.size(); }

  // A register to write; a sink's is one that nobody reads.
  Register destination(const Operand& operand, unsigned bytes);
  // A register to read, or one that holds the constant in every lane.
  Register source(const Operand& operand, unsigned bytes);
  Register constant(std::uint64_t bits, unsigned bytes);
  std::vector<Register> vector_of(const Operand& operand, unsigned bytes, bool written);
  // The registers of the address in brackets (its first element) and what is added to it.
  Register address(const Operand& operand, Space space, std::int64_t& offset);
  Extra& extra();
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
  void lay_out_shared();
  void lay_out_local();
  void lay_out_registers();
  Register add_register(unsigned bytes);
  std::uint64_t address_of(const std::string& symbol, Space& space) const;
  void build(const Instruction& instruction);
  void branch();
  void leave();

  std::shared_ptr<Program> program_;
  const Kernel& kernel_;
  const Instruction* instruction_ = nullptr;
  std::map<std::string, Register> registers_;
  std::map<std::pair<std::uint64_t, unsigned>, Register> constants_;
  struct Symbol {
    Space space;
    std::uint64_t address;
  };
  std::map<std::string, Symbol> symbols_;
  std::vector<std::uint32_t> first_op_;  // of each instruction
  std::vector<std::pair<std::size_t, std::string>> jumps_;
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
void build_cluster_barrier(Builder& b);  // the forms of "barrier" for a cluster

}  // namespace gpubench::model::ptx
