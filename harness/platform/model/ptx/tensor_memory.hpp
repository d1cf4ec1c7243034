// Tensor memory, and the Tensor Cores' work beside the warps that leaves its sums there (tcgen05).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "harness/platform/model/ptx/program.hpp"
#include "harness/platform/model/ptx/types.hpp"

namespace gpubench::model::ptx {

class Block;

class TensorUnit {
 public:
  static constexpr unsigned rows = 128, columns = 512;

  explicit TensorUnit(Block& block) : block_(block) {}
  void begin();
  // What is wrong with how a block left it that has ended, or "".
  std::string leftover() const;

  // --- by a warp; Faults ---
  std::uint32_t allocate(unsigned count);  // the address
  void relinquish() { is_relinquished_ = true; }
  void free(std::uint32_t address, unsigned count);
  // The word at `lane` and `column`, which somebody has written.
  std::uint32_t word(unsigned lane, unsigned column) const;
  void require_allocated(unsigned first, unsigned count) const;

  // --- by a thread: what it asks for is carried out in order, at once or as late as may be ---
  struct Product {
    Type type = Type::f16, sum_type = Type::f32;
    std::uint32_t d = 0;
    std::uint64_t a = 0, b = 0;  // descriptors
    unsigned columns = 0;
    bool adds = false;
    // For factors with block scales: the bits of one (0: they have none), where the scales of a and
    // b are, and in which bytes they begin.
    unsigned scaled_bits = 0;
    std::uint32_t scales_a = 0, scales_b = 0;
    unsigned byte_a = 0, byte_b = 0;
  };
  // 32 rows of 16 bytes that go to four columns of each quarter of the lanes.
  struct Copy {
    std::uint32_t to = 0;
    std::uint64_t from = 0;  // a descriptor
  };
  void multiply(unsigned thread, const Product& product);
  void copy(unsigned thread, const Copy& copy);
  void commit(unsigned thread, std::uint64_t barrier);
  // The next of what some thread has asked for; false if there is nothing.
  bool finish_one();

 private:
  enum class What : std::uint8_t { product, commit, copy };
  struct Step {
    Product product;
    std::uint64_t barrier = 0;
    What what = What::product;
    Copy copy{};
  };
  struct Allocation {
    unsigned first = 0, count = 0;
  };
  void ask(unsigned thread, const Step& step);
  void carry_out(const Step& step);
  void compute(const Product& product);
  void compute_scaled(const Product& product);
  void carry_out(const Copy& copy);
  void add_and_store(const Product& product, const std::vector<double>& a,
                     const std::vector<double>& b, unsigned depth);
  std::vector<double> scaled(const Product& product, bool is_b) const;
  void read(Type type, std::uint64_t descriptor, unsigned count, bool by_depth,
            std::vector<double>& to);

  const std::byte* piece(std::uint64_t descriptor, unsigned row, unsigned piece) const;

  Block& block_;
  std::vector<std::uint32_t> words_;  // lane by lane
  std::vector<char> written_;         // by column
  std::vector<Allocation> allocations_;
  bool is_relinquished_ = false;
  std::map<unsigned, std::deque<Step>> asked_;  // by thread
};

}  // namespace gpubench::model::ptx
