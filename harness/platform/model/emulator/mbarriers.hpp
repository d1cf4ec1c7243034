// Barriers in shared memory that threads and bulk copies arrive at (include/bulk_copy.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "harness/platform/model/emulator/arrivals.hpp"
#include "harness/platform/model/emulator/block.hpp"

namespace gpubench::model {

class Mbarriers {
 public:
  Mbarriers(Block& block, Arrivals& arrivals) : block_(block), arrivals_(arrivals) {}

  void begin_block();

  // --- from a lane ---
  void init(void* barrier, unsigned arrivals, const void* code);
  void arrive(void* barrier, const void* code);
  // The Tensor Cores do, on behalf of the current lane's warp. `has_products`: some of this lane's,
  // which are done by then.
  void arrive_by_tensor_cores(void* barrier, bool has_products, const void* code);
  // The same of a thread or of Tensor Cores of the pair's other block (Arrivals' number), at an
  // mbarrier of this one; false: that is one too many in its phase.
  bool arrive_from_pair(Mbarrier& barrier, std::optional<unsigned> who);
  // Arrives, and so many bytes are to come in this phase.
  void expect(void* barrier, std::size_t bytes, const void* code);
  void wait(void* barrier, unsigned parity, const void* code);
  // `what`: "wait for"; a fault names it if there is no such mbarrier.
  Mbarrier& at(const void* barrier, const char* what, const void* code);
  // The mbarrier at that address, if there is one.
  Mbarrier* find(std::uint64_t address);
  // A bulk copy has brought so many.
  void bring(Mbarrier& barrier, unsigned bytes);

 private:
  void arrive_at(Mbarrier& barrier, std::optional<unsigned> who, const char* one_too_many,
                 const void* code);
  void end_phase(Mbarrier& barrier);

  Block& block_;
  Arrivals& arrivals_;
  std::deque<Mbarrier> mbarriers_;
  std::uint32_t bulk_phases_ = 0;           // of the block, that bring copies
  std::uint32_t bulk_phases_seen_ = 0;      // by the lane that has seen most
  std::vector<std::uint32_t> phases_seen_;  // by lane: of those
};

}  // namespace gpubench::model
