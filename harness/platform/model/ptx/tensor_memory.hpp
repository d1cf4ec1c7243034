// Tensor memory, and the Tensor Cores' work beside the warps that leaves its sums there (tcgen05):
// of one block (cta_group::1), or of two whose ranks in their cluster differ in the last bit, a
// pair (cta_group::2). Of a pair's product each block has 128 rows of a and of the sums and half of
// b's columns, all at the same addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
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

  // A fault where the kernel has used the other .cta_group, or has no pairs for 2.
  void require_group(unsigned group);

  // --- by a warp; Faults ---
  std::uint32_t allocate(unsigned count);  // the address
  void relinquish() { is_relinquished_ = true; }
  void free(std::uint32_t address, unsigned count);
  // An allocation or a deallocation that a warp of each block of a pair takes part in: this block's
  // has begun; whether it may go on, as the other one has done the same.
  struct Meeting {
    bool allocates = false;
    unsigned first = 0, count = 0;
    bool operator==(const Meeting&) const = default;
  };
  bool is_meeting(unsigned warp) const { return meeting_warp_ == warp; }
  void begin_meeting(unsigned warp, const Meeting& meeting);
  bool has_met();
  // The word at `lane` and `column`, which somebody has written.
  std::uint32_t word(unsigned lane, unsigned column) const;
  // Words of a warp's lanes, the first of which is `first_lane`, that it has waited for, or not
  // yet.
  using Column = std::array<std::uint32_t, lanes>;
  void store(unsigned first_lane, unsigned column, const Column& words);
  void require_allocated(unsigned first, unsigned count) const;

  // --- by a thread: what it asks for is carried out in order, at once or as late as may be ---
  struct Product {
    Type type = Type::f16, sum_type = Type::f32;
    std::uint32_t d = 0;
    std::uint64_t a = 0, b = 0;  // descriptors
    unsigned columns = 0;
    bool adds = false, is_pairs = false;
    bool a_is_in_columns = false;  // `a` is an address in tensor memory
    bool b_is_across = false;      // its rows lie across k
    // For factors with block scales: the bits of one (0: they have none), where the scales of a and
    // b are, and in which bytes they begin.
    unsigned scaled_bits = 0;
    std::uint32_t scales_a = 0, scales_b = 0;
    unsigned byte_a = 0, byte_b = 0;
  };
  // 32 rows of 16 bytes that go to four columns of each quarter of the lanes. In a pair each block
  // gets what it has itself at that place.
  struct Copy {
    std::uint32_t to = 0;
    std::uint64_t from = 0;  // a descriptor
    bool is_pairs = false;
  };
  void multiply(unsigned thread, const Product& product);
  void copy(unsigned thread, const Copy& copy);
  // Arrives in the blocks of `ranks`, a bit each; none: in this one alone.
  void commit(unsigned thread, std::uint64_t barrier, std::optional<std::uint16_t> ranks = {});
  // The next of what some thread has asked for; false if there is nothing.
  bool finish_one();

 private:
  enum class What : std::uint8_t { product, commit, copy };
  struct Step {
    Product product;
    std::uint64_t barrier = 0;
    What what = What::product;
    Copy copy{};
    std::uint16_t ranks = 0;  // of the blocks in which a commit arrives; 0: this one
  };
  struct Allocation {
    unsigned first = 0, count = 0;
  };
  void ask(unsigned thread, const Step& step);
  void carry_out(const Step& step);
  void compute(const Product& product);
  void compute_scaled(const Product& product);
  void receive(const Copy& copy);
  void add_and_store(const Product& product, const std::vector<double>& a,
                     const std::vector<double>& b, unsigned depth);
  // a, or b, whose columns each of `owners` has its share of; with the scales that this block has.
  std::vector<double> scaled(const Product& product, bool is_b,
                             const std::vector<TensorUnit*>& owners) const;
  std::vector<double> read(Type type, std::uint64_t descriptor, unsigned count) const;
  std::vector<double> read_columns(Type type, std::uint32_t address) const;
  std::vector<double> read_across(Type type, std::uint64_t descriptor, unsigned count) const;
  // The unit of the other block of the pair; nullptr: this one is in no pair.
  TensorUnit* peer() const;
  // This unit, or those of both blocks of the pair whose even block it is of.
  std::vector<TensorUnit*> units(bool of_pair);
  void require_pair(const char* what) const;
  void arrive(const Step& commit);

  const std::byte* piece(std::uint64_t descriptor, unsigned row, unsigned piece) const;

  Block& block_;
  std::vector<std::uint32_t> words_;  // lane by lane
  static constexpr unsigned all_quarters = 15;
  std::vector<unsigned> written_;  // by column: quarters of the lanes, a bit each
  std::vector<Allocation> allocations_;
  bool is_relinquished_ = false;
  std::map<unsigned, std::deque<Step>> asked_;  // by thread
  unsigned group_ = 0;                          // .cta_group of the kernel; 0: not known yet
  std::vector<Meeting> meetings_;
  std::optional<unsigned> meeting_warp_;  // that waits for the other block
};

}  // namespace gpubench::model::ptx
