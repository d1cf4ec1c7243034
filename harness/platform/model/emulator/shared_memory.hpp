// The shared memory of the block that runs on this thread: variables of the kernels, which are
// thread-local here, and the dynamic part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/memory_checker.hpp"

namespace gpubench::model {

class SharedMemory {
 public:
  // To be called on the thread that will run blocks: static shared memory is that thread's.
  void attach();
  // No block finds an earlier one's values in the dynamic part, and none in these variables
  // (indices of thread_variables()).
  void begin_block(std::size_t dynamic_bytes);
  void poison(std::vector<std::size_t> variables) { poisoned_ = std::move(variables); }
  // Static shared variables that the last block wrote, if it was traced.
  std::vector<std::size_t> written_variables(const MemoryChecker& checker) const;
  std::size_t bytes_of(const std::vector<std::size_t>& variables) const;

  bool holds(std::uint64_t address) const {
    return address - static_begin_ < static_bytes_ || is_dynamic(address);
  }
  bool is_dynamic(std::uint64_t address) const {
    return address - dynamic_begin() < dynamic_bytes_;
  }
  std::byte* dynamic() { return reinterpret_cast<std::byte*>(dynamic_.data()) + dynamic_at; }
  std::uint64_t dynamic_begin() const {
    return reinterpret_cast<std::uint64_t>(dynamic_.data()) + dynamic_at;
  }
  std::size_t dynamic_bytes() const { return dynamic_bytes_; }
  std::size_t words() const { return (dynamic_offset() + dynamic_bytes_) / 4 + 2; }
  // Where in shared memory an address lies: the static part, then the dynamic one.
  std::uint64_t offset_of(std::uint64_t address) const {
    const std::uint64_t offset = address - static_begin_;
    return offset < static_bytes_ ? offset : dynamic_offset() + address - dynamic_begin();
  }
  // An aligned access to words that lie in one of the kernels' shared variables as a whole.
  bool is_known_good(std::uint64_t address, unsigned bytes) const {
    if (address % bytes != 0) return false;
    const std::uint64_t first = address - static_begin_;
    if (first >= static_bytes_) return address + bytes <= dynamic_begin() + dynamic_bytes_;
    return words_of_variables_[first / 4] == Word::variable &&
           (bytes <= 4 || words_of_variables_[(first + bytes - 1) / 4] == Word::variable);
  }
  // The built-in variables are thread-local too, beside the kernels' shared arrays.
  bool is_builtin(std::uint64_t address) const {
    const std::uint64_t offset = address - static_begin_;
    return offset < static_bytes_ && words_of_variables_[offset / 4] == Word::builtin;
  }
  // Constants and variables of the program itself.
  bool is_programs(std::uint64_t address) const {
    return address - program_begin_ < program_bytes_;
  }

  // What is wrong with an access that is not known to be good, or "". `what`: "4-byte store".
  std::string mistake(std::uint64_t address, unsigned bytes, const std::string& what) const;
  // What an address here belongs to ("'tile'"), and where that begins.
  std::pair<std::string, std::uint64_t> home_of(std::uint64_t address) const;

 private:
  void find_variables();
  // In a program with code that nobody trusts, only that code's variables are for it to use.
  bool is_own(std::uint64_t offset) const { return offset >= own_begin_ && offset < own_end_; }

  // What each word of the thread's variables is: all of it one's that kernels may use, a built-in
  // variable's, or anything else.
  enum class Word : std::uint8_t { other, variable, builtin };
  // Swizzles go by the bits of addresses, and those of a copy to several blocks by one block's. So
  // dynamic shared memory begins at the same of 1024 bytes in all blocks, at a row of the banks,
  // but not at the first: a kernel that needs that must see to it.
  static constexpr std::size_t swizzled_bytes = 1024, dynamic_at = 128;
  struct alignas(swizzled_bytes) Piece {
    std::array<std::byte, swizzled_bytes> bytes;
  };

  // Where dynamic shared memory begins for `offset_of`: at a whole word, whatever else the program
  // keeps per thread.
  std::uint64_t dynamic_offset() const { return (static_bytes_ + 15) / 16 * 16; }

  std::uint64_t static_begin_ = 0, static_bytes_ = 0;
  std::size_t dynamic_bytes_ = 0;
  std::vector<Piece> dynamic_;
  std::vector<Word> words_of_variables_;
  std::vector<std::size_t> poisoned_;
  std::uint64_t program_begin_ = 0, program_bytes_ = 0;
  std::uint64_t own_begin_ = 0, own_end_ = ~std::uint64_t{0};
};

}  // namespace gpubench::model
