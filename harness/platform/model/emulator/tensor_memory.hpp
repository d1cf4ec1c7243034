// Tensor memory, and the products of matrices that leave their sums there (tcgen05): of one block,
// or of the pair that blocks of neighbouring ranks are in a cluster (cta_group::2).
//
// A pair's product has 256 rows: of a and of the sums each block has 128, at the same place in its
// own shared and tensor memory, and of b's columns each has half. So what one block has there by
// itself is what a product of its own would have, but for the other half of b.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/platform/model/emulator/arrivals.hpp"
#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/emulator/mbarriers.hpp"
#include "harness/platform/model/emulator/warp_collectives.hpp"
#include "harness/platform/model/emulator/warpgroup_reads.hpp"
#include "harness/platform/model/include/tcgen05.hpp"

namespace gpubench::model {

class TensorMemory final : public WarpWork {
 public:
  TensorMemory(Block& block, WarpCollectives& collectives, Arrivals& arrivals, Mbarriers& mbarriers,
               WarpgroupReads& reads, TensorFences& fences)
      : block_(block),
        collectives_(collectives),
        arrivals_(arrivals),
        mbarriers_(mbarriers),
        reads_(reads),
        fences_(fences) {}

  void begin_block();
  // This block, of an odd rank, and that one are a pair.
  void pair_with(TensorMemory& even) {
    peer_ = &even;
    even.peer_ = this;
  }
  // What is wrong with how a block left it that has ended, or "".
  std::string leftover() const;

  // --- from a lane ---
  void allocate(unsigned* place, unsigned columns, CtaGroup group, const void* code);
  void free(unsigned address, unsigned columns, CtaGroup group, const void* code);
  void multiply(const TensorProduct& mine, const void* code);
  void commit(void* barrier, CtaGroup group, const void* code);
  // To the mbarriers at that place in blocks of the pair, a bit of `ranks` each.
  void commit_to(std::uint16_t ranks, void* barrier, const void* code);
  void copy(unsigned address, std::uint64_t descriptor, CtaGroup group, const void* code);
  void load(void* to, unsigned address, const void* code);
  void wait(const void* code);
  void store(unsigned address, const void* from, const void* code);
  void wait_for_stores(const void* code);

  unsigned carry_out(unsigned warp, const WarpCall* const lanes[]) override;

 private:
  static constexpr unsigned rows = 128, columns = 512;
  static constexpr unsigned columns_of_load = 32, quarters = rows / warp_lanes;
  static constexpr std::uint32_t under_way = ~std::uint32_t{0};

  // What the Tensor Cores of one warp do last with a column.
  struct ByCores {
    unsigned who = 0;        // Arrivals' number of these
    std::uint32_t with = 0;  // the commit of these that says that it is done; 0: there is nothing
  };
  struct Column {
    unsigned quarters_written = 0;    // of its lanes, a bit each
    ByCores written{}, multiplied{};  // by products: as sums or scales, and as a factor
    // By warp: the arrival that follows its last load or store; or `under_way`.
    Arrivals::Known read{}, stored{};
    bool is_written() const { return quarters_written == (1u << quarters) - 1; }
  };
  struct Allocation {
    unsigned first, columns;
  };
  // An allocation or a deallocation that both blocks of a pair take part in, by a warp each: the
  // first one waits for the other.
  struct Meeting {
    bool allocates;
    unsigned first, columns;
    bool operator==(const Meeting&) const = default;
  };
  struct Load {
    std::array<void*, warp_lanes> to;
    std::array<std::array<std::uint32_t, columns_of_load>, warp_lanes> values;
  };

  void take_part(int operation, std::uint64_t value, const char* name, const void* code);
  void allocate_for(const WarpCall* const lanes[]);
  void free_for(const WarpCall* const lanes[]);
  void load_for(unsigned warp, const WarpCall* const lanes[]);
  void deliver(unsigned warp);
  void store_for(unsigned warp, const WarpCall* const lanes[]);
  void finish(unsigned warp, Arrivals::Known Column::*accesses);
  void require_own_lanes(const char* what, unsigned warp, unsigned address, const void* code);
  void require_loadable(unsigned warp, unsigned column, const void* code);
  void require_storable(unsigned warp, unsigned column, const void* code);
  bool is_known_by_quarter(const Arrivals::Known& accesses, unsigned warp) const;
  bool is_allocated(unsigned first, unsigned count) const;
  static bool is_known(const ByCores& work, const Arrivals::Known& known);
  bool is_known(const Arrivals::Known& accesses, unsigned by, const Arrivals::Known& known) const;
  // What takes columns over. In order: after the products and copies that its own thread has asked
  // for before.
  struct Taker {
    const char* name;
    bool is_in_order;
  };
  static constexpr Taker product{"tcgen05.mma", true}, scale_copy{"tcgen05.cp", true},
      deallocation{"tcgen05.dealloc", false};
  void require_known_done(const TensorMemory& in, unsigned first, unsigned count, const Taker& by,
                          const void* code);
  void require_one_issuer(const void* code);
  void require_group(CtaGroup group, const char* what, const void* code);
  void meet(const Meeting& mine, const void* code);
  void wait_for_peer(CtaGroup group, const void* code);
  // " of the other block of the pair", where `asks` is another block than this one.
  const char* whose(const TensorMemory& asks) const;
  // Pieces of a matrix in the shared memory of that block, by a descriptor of this one.
  struct Operand {
    std::uint64_t descriptor;
    unsigned rows, in_row = 2;  // pieces of a row
    bool is_transposed = false;
  };
  std::vector<const std::byte*> pieces(TensorMemory& in, const Operand& of, const char* by,
                                       const void* code);
  void note_read_by_pair(std::uint64_t address, const char* by, const void* code);
  void require_even_block(const char* what, const void* code);
  void require_place(const TensorMemory& in, unsigned first, unsigned count, bool adds,
                     const void* code);
  void write_columns(TensorMemory& in, unsigned first, unsigned count);
  std::vector<const std::byte*> pieces_of_a(TensorMemory& in, const TensorProduct& mine,
                                            const void* code);
  std::vector<const std::byte*> pieces_in_columns(unsigned address, const void* code);
  bool is_issuer() const;
  // Those that the Tensor Cores of that block take from its own tensor memory.
  std::vector<double> scales(const TensorMemory& in, Tensor type, unsigned address, unsigned byte,
                             unsigned count, const void* code);
  // The blocks of an instruction: this one, or both of its pair.
  std::vector<TensorMemory*> blocks_of(CtaGroup group);
  const void* code_of_warp() const { return block_.lanes().current_lane().waiting_at; }

  Block& block_;
  WarpCollectives& collectives_;
  Arrivals& arrivals_;
  Mbarriers& mbarriers_;
  WarpgroupReads& reads_;
  TensorFences& fences_;
  std::vector<std::uint32_t> words_;  // lane by lane
  std::vector<Column> columns_;
  std::vector<Allocation> allocations_;
  std::vector<std::vector<Load>> loads_;  // by warp: not waited for
  // By warp: 1 + the lane that asks for products; 0: none has.
  std::vector<unsigned> issuers_;
  bool is_relinquished_ = false;
  std::optional<CtaGroup> group_;  // of this block's instructions, which must be all of one
  TensorMemory* peer_ = nullptr;   // the other block of the pair; none: the block is in no pair
  std::vector<Meeting> meetings_;
};

}  // namespace gpubench::model
