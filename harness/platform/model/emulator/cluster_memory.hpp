// The shared memory of blocks that run side by side: whose an address is, and whether what the
// blocks of a cluster do to one another's is in order. A block goes by its number among them, which
// in a cluster is its rank.
//
// Only the cluster's barrier orders accesses of different blocks. Each word remembers, by kind of
// access, one block that has accessed it since the last barrier and whether another one has. That
// finds every race, but takes stores of two blocks to different bytes of a word for one as well.
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
  // Where a block that does not run alone belongs.
  struct Place {
    ClusterMemory* memory = nullptr;  // none: it runs alone
    unsigned number = 0;
  };

  // These blocks begin together, in the order of their numbers; they must outlive this.
  void begin(std::vector<Block*> blocks);
  unsigned blocks() const { return static_cast<unsigned>(blocks_.size()); }

  // The number of the block in whose dynamic shared memory the address lies, or shortly behind.
  std::optional<unsigned> owner_of(std::uint64_t address) const;
  // Where the dynamic shared memory of that block begins.
  std::uint64_t begin_of(unsigned number) const;
  // "dynamic shared memory of block (1,0,0)", and where it begins.
  std::pair<std::string, std::uint64_t> home(unsigned number) const;

  // --- for traced blocks: what is wrong, or "" ---
  // An access to a block's own shared memory, at byte `offset` of the dynamic part.
  std::string note_own(unsigned number, std::uint64_t offset, unsigned bytes, EventKind kind) {
    return race(number, number, offset, bytes, kind);
  }
  // An access by the current thread, of block `by`, to the memory of block `of`.
  std::string note_remote(unsigned by, unsigned of, std::uint64_t address, unsigned bytes,
                          EventKind kind, const void* code);
  // A copy that block `by` has asked for lands in the memory of block `of`, whose threads wait for
  // it there.
  std::string note_copy(unsigned by, unsigned of, std::uint64_t address, unsigned bytes);
  // Names the time between two barriers; never twice the same.
  std::uint32_t phase() const { return phase_; }
  bool has_met() const { return have_met_; }  // so all have begun
  // All blocks have come to a barrier, or to their end.
  std::string meet();
  std::string end() const;

  // Bounds and alignment of an access to the memory of block `of`, traced or not; or "".
  std::string mistake(unsigned of, std::uint64_t address, unsigned bytes, EventKind kind) const;

 private:
  static constexpr std::size_t kinds = 3;  // load, store, atomic
  // Who has accessed a word in this phase. A bit per block would not do: as many blocks run side by
  // side as a small cooperative grid has.
  struct Users {
    std::uint32_t phase = 0;
    std::uint16_t block = 0;  // the first of them
    bool several = false;     // and others
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

  bool have_others(const Users& users, unsigned than) const {
    return users.phase == phase_ && (users.several || users.block != than);
  }
  std::string race(unsigned by, unsigned of, std::uint64_t offset, unsigned bytes, EventKind kind);
  std::string place(unsigned of, std::uint64_t offset, unsigned bytes) const;
  std::string leaves_early(unsigned number) const;

  std::vector<Block*> blocks_;
  std::vector<std::vector<Word>> words_;  // of each block's dynamic shared memory
  std::vector<Visit> visits_;             // to each block's
  std::uint32_t phase_ = 0;               // never twice the same
  bool have_met_ = false;
};

}  // namespace gpubench::model
