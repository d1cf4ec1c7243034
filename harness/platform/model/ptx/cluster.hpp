// Blocks that take turns, those of a cluster or of a small cooperative grid: PTX ISA,
// "barrier.cluster", what "mapa" leads to, and the barrier of a grid.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/platform/model/ptx/block.hpp"
#include "harness/platform/model/ptx/vain_wait.hpp"

namespace gpubench::model::ptx {

class Cluster {
 public:
  Cluster(DeviceMemory& memory, const MappedHost& mapped, const Conduct& conduct)
      : memory_(memory), mapped_(mapped), conduct_(conduct) {}

  // The next blocks are another launch's than the last.
  void begin_launch();
  // Runs the launch's blocks from `first` on, as many as are to run together, to their end, and
  // returns their results in order. The fault of one is the first one's.
  std::vector<BlockResult> run(const Program& program, const KernelLaunch& launch, dim3 first,
                               bool traced);

  // By its ordinal, which in a cluster is its rank.
  Block& block(unsigned ordinal) { return *blocks_[ordinal]; }
  const Block& block(unsigned ordinal) const { return *blocks_[ordinal]; }

  // --- for operations ---
  // The cluster's barrier: arrival of all of a warp's lanes, and whether all others have arrived.
  void arrive(Warp& warp, Mask mask);
  bool wait(Warp& warp, Mask mask);
  std::uint32_t meetings(const Block& block) const { return meeting_of(block).phase; }
  bool has_met(const Block& block) const { return meetings(block) > 0; }
  // Whose an address of shared::cluster is, which `own` uses, and where in the shared memory of
  // that block. Faults.
  struct Place {
    Block* block;
    std::uint64_t address;
  };
  Place place_of(Block& own, std::uint64_t address);
  // The word at which a cooperative grid's blocks meet. Each adds to it, and then reads it until
  // its highest bit has changed, as the sum of what all add makes it do. A block that runs without
  // the others goes on at once.
  std::uint32_t add_to_grid(Warp& warp, std::uint32_t added);
  std::optional<std::uint32_t> grid_word(Warp& warp) const;  // once it may be read
  VainWait& waits() { return waits_; }

 private:
  // The barrier of one cluster.
  struct Meeting {
    unsigned arrived = 0;  // threads, in this phase
    std::uint32_t phase = 0;
  };
  // A block of a cooperative grid is a cluster by itself, whatever others run beside it.
  static std::size_t cluster_of(const Block& block) {
    return block.ordinal / block.launch().cluster;
  }
  Meeting& meeting_of(const Block& block) { return meetings_[cluster_of(block)]; }
  const Meeting& meeting_of(const Block& block) const { return meetings_[cluster_of(block)]; }
  bool advance();  // a turn for each block; whether any could do something
  void release(const Block& block);

  DeviceMemory& memory_;
  const MappedHost& mapped_;
  const Conduct conduct_;
  std::vector<std::unique_ptr<Block>> blocks_;  // as many as have ever run together
  unsigned size_ = 1;                           // that run now
  std::vector<Meeting> meetings_;               // by cluster
  std::uint32_t grid_word_ = 0;
  bool has_whole_grid_ = false;
  VainWait waits_;  // one for all that run together
};

}  // namespace gpubench::model::ptx
