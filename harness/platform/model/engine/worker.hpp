// What one of the host's threads keeps from block to block: it runs them and counts what they did.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/block_engine.hpp"
#include "harness/platform/model/emulator/counts.hpp"
#include "harness/platform/model/emulator/feeding_loads.hpp"
#include "harness/platform/model/emulator/footprint.hpp"
#include "harness/platform/model/emulator/touched_bytes.hpp"
#include "harness/platform/model/engine/neighbours.hpp"
#include "harness/platform/model/time/time_model.hpp"
#include "harness/records/explanation.hpp"

namespace gpubench::model {

// The bytes of each of its sectors that a request asks for, a bit each.
using CoveredBytes = std::array<std::uint32_t, 2 * warp_lanes>;

class Worker {
 public:
  explicit Worker(std::unique_ptr<BlockEngine> engine) : engine_(std::move(engine)) {}

  void begin_kernel();
  // Runs a block; if `traced`, what follows may be asked of it.
  BlockResult run(const KernelLaunch& launch, std::uint64_t block, bool traced);
  // The same about another block, which has run side by side with it.
  BlockResult turn_to(unsigned rank) { return engine_->turn_to(rank); }
  // The sectors of global memory that the block reads, by the warp that reads them first, in its
  // order.
  std::vector<ReadSector> reads();
  // Adds the block, which has cost so much, to the counts of this kernel.
  void count(std::uint64_t block, std::uint64_t cost, FootprintMap& map);
  // What it cost to run the last block, and would to count it, in accesses and multiply-adds of a
  // lane.
  std::uint64_t cost(const BlockResult& result) const;
  // Whether the block that count() has just counted wrote to global memory.
  bool has_written() const { return has_written_; }
  // Explains the first warp of the block that count() has just counted.
  std::vector<ExplainedAccess> explain();

  BlockEngine& engine() { return *engine_; }
  // What the blocks of this kernel that were counted did.
  const Counts& counts() const { return counts_; }
  const Waiting& waits() const { return waits_; }
  const TouchedBytes& touched() const { return touched_; }
  std::uint64_t traced_blocks() const { return traced_blocks_; }
  // What they cost.
  std::uint64_t events() const { return events_; }

 private:
  // Sectors of an allocation that a block has read between one pair of barriers and reads again
  // between another.
  struct ReadAgain {
    Footprint* of;
    std::uint32_t from, to;
    auto operator<=>(const ReadAgain&) const = default;
  };
  // A warp that is counted.
  struct Counted {
    Waiting waits;
    bool waiting = false;         // for loads that nothing has used yet
    bool waiting_remote = false;  // likewise, of shared memory of other blocks
    FeedingLoads feeding;
  };
  // The sectors of one allocation between which the block's reads lie.
  struct Range {
    Footprint* of;
    std::uint64_t first, last;
  };

  Waiting count_warp(std::size_t first, FootprintMap& map);
  // Calls `visit(request, space)` for each kind of memory that lanes of the access name: hardware
  // serves these one after the other.
  template <class Visit>
  void by_space(const WarpRequest& request, Visit&& visit) const;
  void count_request(const WarpRequest& request, Space space, FootprintMap& map, Counted& warp);
  void count_shared(const WarpRequest& request, bool is_bulk, AccessCounts& sum, Counted& warp);
  void count_remote(const WarpRequest& request, AccessCounts& sum, Counted& warp);
  void count_global(const WarpRequest& request, bool is_bulk, AccessCounts& sum, FootprintMap& map,
                    Counted& warp);
  void add_lanes(std::size_t first, Waiting& warp) const;
  void extend(Footprint* footprint, std::uint64_t sector);
  // The sectors that the request's bytes would fill.
  double note_footprints(const WarpRequest& request, const Sectors& sectors, FootprintMap& map);
  // The same for sectors `from` to `to` of it, which are of one allocation.
  double note_footprint(const WarpRequest& request, const Sectors& sectors,
                        const CoveredBytes& covered, Footprint* footprint, unsigned from,
                        unsigned to);
  LastRead note_read(Footprint* footprint, BlockSector& mine, std::uint32_t interval);
  Footprint* footprint_at(std::uint64_t address, FootprintMap& map);

  std::unique_ptr<BlockEngine> engine_;
  std::vector<Range> ranges_;
  BlockSectors block_sectors_;
  std::map<ReadAgain, std::uint64_t> read_again_;  // how many
  TouchedBytes touched_;
  std::array<Footprint*, 4> footprints_{};  // the last that were found
  unsigned next_footprint_ = 0;
  std::size_t lanes_ = 0;
  unsigned together_ = 1;     // blocks that run side by side
  Waiting slowest_together_;  // the longest waits of these so far
  Counts counts_;
  Waiting waits_;
  std::uint64_t traced_blocks_ = 0;
  std::uint64_t events_ = 0;
  bool has_written_ = false;
};

}  // namespace gpubench::model
