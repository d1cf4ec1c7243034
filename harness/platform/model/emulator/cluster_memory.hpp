// The shared memory of a cluster's blocks: whose an address is, and whether what the blocks do to
// one another's is in order.
//
// Only the cluster's barrier orders accesses of different blocks. Kept for each word are the blocks
// that accessed it since the last one, by kind, so that two that race are always found, but for
// parts of a word: two blocks that store to different bytes of one are taken to race.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/trace.hpp"
#include "harness/platform/model/include/device_language.h"

namespace gpubench::model {

class Block;

class ClusterMemory {
 public:
  // What a block knows of its cluster: nothing, if it is alone.
  struct Place {
    ClusterMemory* memory = nullptr;
    unsigned rank = 0;
  };

  // These blocks begin together, in the order of their ranks; they must outlive the cluster.
  void begin(std::vector<Block*> blocks);
  unsigned blocks() const { return static_cast<unsigned>(blocks_.size()); }

  // The rank of the block in whose dynamic shared memory the address lies, or shortly behind.
  std::optional<unsigned> owner_of(std::uint64_t address) const;
  // Where the dynamic shared memory of block `rank` begins.
  std::uint64_t begin_of(unsigned rank) const;
  // "dynamic shared memory of block (1,0,0)", and where it begins.
  std::pair<std::string, std::uint64_t> home(unsigned rank) const;

  // --- of traced blocks: what is wrong with it, or "" ---
  // An access to a block's own shared memory, at byte `offset` of the dynamic part.
  std::string note_own(unsigned rank, std::uint64_t offset, unsigned bytes, EventKind kind) {
    return race(rank, rank, offset, bytes, kind);
  }
  // One of the current thread, of block `by`, to that of block `of`.
  std::string note_remote(unsigned by, unsigned of, std::uint64_t address, unsigned bytes,
                          EventKind kind, const void* code);
  // A copy that block `by` has asked for lands in the memory of block `of`, whose threads wait for
  // it there.
  std::string note_copy(unsigned by, unsigned of, std::uint64_t address, unsigned bytes);
  // Names the time between two barriers; never twice the same.
  std::uint32_t phase() const { return phase_; }
  // The cluster has come to its barrier, or to its end.
  std::string meet();
  std::string end() const;

  // Whatever the blocks are traced for: bounds and alignment of an access to that of block `of`.
  std::string mistake(unsigned of, std::uint64_t address, unsigned bytes, EventKind kind) const;

 private:
  static constexpr std::size_t kinds = 3;  // load, store, atomic
  // Who accessed a word since the barrier of that number, a bit each.
  struct Users {
    std::uint32_t phase = 0;
    std::uint16_t blocks = 0;
  };
  using Word = std::array<Users, kinds>;
  // The last access from another block, since the last barrier.
  struct Visit {
    std::uint32_t phase = 0;
    unsigned bytes = 0;
    EventKind kind = EventKind::load;
    uint3 thread, block;  // whose it was
    const void* code = nullptr;
  };

  std::string race(unsigned by, unsigned of, std::uint64_t offset, unsigned bytes, EventKind kind);
  std::string place(unsigned of, std::uint64_t offset, unsigned bytes) const;
  std::string leaves_early(unsigned rank) const;

  std::vector<Block*> blocks_;
  std::vector<std::vector<Word>> words_;  // of each block's dynamic shared memory
  std::vector<Visit> visits_;             // to each block's
  std::uint32_t phase_ = 0;               // never twice the same
  bool have_met_ = false;
};

}  // namespace gpubench::model
