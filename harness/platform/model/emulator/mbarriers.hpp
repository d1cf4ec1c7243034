// Barriers in shared memory that threads and bulk copies arrive at (include/bulk_copy.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "harness/platform/model/emulator/arrivals.hpp"
#include "harness/platform/model/emulator/block.hpp"
#include "harness/platform/model/emulator/tensor_fences.hpp"

namespace gpubench::model {

// Whose arrivals a wait knows of: the block's own, or the whole cluster's.
enum class MbarrierScope : std::uint8_t { block, cluster };

class Mbarriers {
 public:
  Mbarriers(Block& block, Arrivals& arrivals, TensorFences& fences)
      : block_(block), arrivals_(arrivals), fences_(fences) {}

  void begin_block();
  // This block, of an odd rank, and that one are a pair.
  void pair_with(Mbarriers& even) {
    peer_ = &even;
    even.peer_ = this;
  }

  // --- from a lane ---
  void init(void* barrier, unsigned arrivals, const void* code);
  // A fence behind all that the current lane has initialised: other blocks may arrive there.
  void announce();
  void arrive(void* barrier, const void* code);
  // The Tensor Cores do, on behalf of the current lane's warp. `has_products`: some of this lane's,
  // which are done by then.
  void arrive_by_tensor_cores(void* barrier, bool has_products, const void* code);
  // The same at the mbarrier that the pair's even block has at that place.
  void arrive_at_even(void* barrier, const void* code);
  // `who` does (Arrivals' number; none: it tells nothing), at the mbarrier that the pair's other
  // block has at that place. `what`: "arrival at"; a fault says it.
  void arrive_at_peers(const void* barrier, std::optional<unsigned> who, const char* what,
                       const void* code);
  // Arrives, and so many bytes are to come in this phase.
  void expect(void* barrier, std::size_t bytes, const void* code);
  void wait(void* barrier, unsigned parity, MbarrierScope scope, const void* code);
  // `what`: "wait for"; a fault names it if there is no such mbarrier.
  Mbarrier& at(const void* barrier, const char* what, const void* code);
  // The mbarrier at that address, if there is one.
  Mbarrier* find(std::uint64_t address);
  // The mbarrier that the pair's even block has there.
  Mbarrier& at_even(const void* barrier, const char* what, const void* code);
  // A bulk copy has brought so many, to this block, or to both of the pair's.
  void bring(Mbarrier& barrier, unsigned bytes);
  // Whether a thread waits for a phase of it; of a pair's, in either block.
  bool is_awaited(const Mbarrier& barrier) const;
  bool is_own(const Mbarrier& barrier) const { return block_.shared().holds(barrier.address); }

 private:
  void arrive_at(Mbarrier& barrier, std::optional<unsigned> who, const char* one_too_many,
                 const void* code);
  void end_phase(Mbarrier& barrier);
  Mbarrier& at_peers(const void* barrier, const char* what, const void* code);

  Block& block_;
  Arrivals& arrivals_;
  TensorFences& fences_;
  Mbarriers* peer_ = nullptr;  // the other block's of the pair
  std::deque<Mbarrier> mbarriers_;
  std::uint32_t bulk_phases_ = 0;           // of the block, that bring copies
  std::uint32_t bulk_phases_seen_ = 0;      // by the lane that has seen most
  std::vector<std::uint32_t> phases_seen_;  // by lane: of those
};

}  // namespace gpubench::model
