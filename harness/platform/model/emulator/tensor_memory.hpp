// Tensor memory, and the products of matrices that leave their sums there (tcgen05).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
               WarpgroupReads& reads)
      : block_(block),
        collectives_(collectives),
        arrivals_(arrivals),
        mbarriers_(mbarriers),
        reads_(reads) {}

  void begin_block();
  // What is wrong with how a block left it that has ended, or "".
  std::string leftover() const;

  // --- from a lane ---
  void allocate(unsigned* place, unsigned columns, const void* code);
  void free(unsigned address, unsigned columns, const void* code);
  void multiply(const TensorProduct& mine, const void* code);
  void commit(void* barrier, const void* code);
  void copy(unsigned address, std::uint64_t descriptor, const void* code);
  void load(void* to, unsigned address, const void* code);
  void wait(const void* code);

  unsigned carry_out(unsigned warp, const WarpCall* const lanes[]) override;

 private:
  static constexpr unsigned rows = 128, columns = 512;
  static constexpr unsigned columns_of_load = 32;
  static constexpr std::uint32_t reading = ~std::uint32_t{0};

  struct Column {
    bool is_written = false;
    unsigned writer = 0;             // the warp that asked for its last product
    std::uint32_t written_with = 0;  // the commit of that warp that says so
    Arrivals::Known read{};  // by warp: the arrival that follows its last load; or `reading`
  };
  struct Allocation {
    unsigned first, columns;
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
  bool is_allocated(unsigned first, unsigned count) const;
  bool is_known_written(const Column& column, unsigned to_warp) const;
  bool is_known_read(const Column& column, unsigned to_warp) const;
  // What takes columns over. In order: after the products and copies that its own thread has asked
  // for before.
  struct Taker {
    const char* name;
    bool is_in_order;
  };
  static constexpr Taker product{"tcgen05.mma", true}, scale_copy{"tcgen05.cp", true},
      deallocation{"tcgen05.dealloc", false};
  void require_known_done(unsigned first, unsigned count, const Taker& by, const void* code);
  void require_one_issuer(const void* code);
  std::vector<const std::byte*> pieces(std::uint64_t descriptor, unsigned count, const char* by,
                                       const void* code, unsigned in_row = 2);
  void write_columns(unsigned first, unsigned count);
  std::vector<double> scales(Tensor type, unsigned address, unsigned byte, unsigned count,
                             const void* code);
  const void* code_of_warp() const { return block_.lanes().current_lane().waiting_at; }

  Block& block_;
  WarpCollectives& collectives_;
  Arrivals& arrivals_;
  Mbarriers& mbarriers_;
  WarpgroupReads& reads_;
  std::vector<std::uint32_t> words_;  // lane by lane
  std::vector<Column> columns_;
  std::vector<Allocation> allocations_;
  std::vector<std::vector<Load>> loads_;  // by warp: not waited for
  // By warp: 1 + the lane that asks for products; 0: none has.
  std::vector<unsigned> issuers_;
  bool is_relinquished_ = false;
};

}  // namespace gpubench::model
