// What wgmma and tcgen05.mma of a traced block read from shared memory, until nobody can still be
// reading it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/arrivals.hpp"
#include "harness/platform/model/emulator/block.hpp"

namespace gpubench::model {

class WarpgroupReads {
 public:
  WarpgroupReads(Block& block, Arrivals& arrivals) : block_(block), arrivals_(arrivals) {}

  void begin_block() { warps_.assign(block_.lanes().warps(), {}); }

  // `warp` reads 16 bytes, all its lanes for all.
  void note(std::uint64_t address, unsigned warp);
  // The current lane has the Tensor Cores read 16 bytes, which they have done when its warp's next
  // tcgen05.commit arrives.
  void note_by_lane(std::uint64_t address, const void* code);
  // The Tensor Cores of `who` (Arrivals' number) read what a bulk copy has brought.
  void note_in(AsyncCopy& copy, unsigned who);
  // Ends the group of those that `warp` has started.
  void commit(unsigned warp) { ++warps_[warp].groups; }
  void wait(unsigned warp, unsigned groups_left);
  // A bulk copy may replace what an earlier one has brought and wgmma have read, if its thread
  // knows of arrivals by which the readers were done.
  void replace(const AsyncCopy& by);

 private:
  // The wgmma of a warp that have not been waited for.
  struct Unwaited {
    std::uint32_t groups = 0;                                    // committed
    std::vector<std::pair<std::uint32_t, std::uint32_t>> reads;  // index of a copy, group
  };

  Block& block_;
  Arrivals& arrivals_;
  std::vector<Unwaited> warps_;
};

}  // namespace gpubench::model
