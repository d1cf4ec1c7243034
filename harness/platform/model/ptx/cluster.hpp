// The blocks of a cluster, which take turns: PTX ISA, "barrier.cluster", and what "mapa" leads to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/platform/model/ptx/block.hpp"

namespace gpubench::model::ptx {

class Cluster {
 public:
  Cluster(DeviceMemory& memory, const MappedHost& mapped, const Conduct& conduct)
      : memory_(memory), mapped_(mapped), conduct_(conduct) {}

  // The next blocks are another launch's than the last.
  void begin_launch();
  // Runs the launch's blocks from `first` on, as many as are a cluster, to their end, and returns
  // their results by rank. The fault of one is the first one's.
  std::vector<BlockResult> run(const Program& program, const KernelLaunch& launch, dim3 first,
                               bool traced);

  Block& block(unsigned rank) { return *blocks_[rank]; }
  const Block& block(unsigned rank) const { return *blocks_[rank]; }
  unsigned blocks() const { return size_; }

  // --- for operations ---
  // The cluster's barrier: arrival of all of a warp's lanes, and whether all others have arrived.
  void arrive(Warp& warp, Mask mask);
  bool wait(Warp& warp, Mask mask);
  bool have_met() const { return phase_ > 0; }
  // The word at which a cooperative grid's blocks meet. Each adds to it, and then reads it until
  // its highest bit has changed, as the sum of what all add makes it do. A block that runs without
  // the others goes on at once.
  std::uint32_t add_to_grid(Warp& warp, std::uint32_t added);
  std::optional<std::uint32_t> grid_word(Warp& warp) const;  // once it may be read

 private:
  bool advance();  // a turn for each block; whether any could do something
  void release();

  DeviceMemory& memory_;
  const MappedHost& mapped_;
  const Conduct conduct_;
  std::vector<std::unique_ptr<Block>> blocks_;  // as many as the largest cluster has had
  unsigned size_ = 1;                           // of this one
  unsigned arrived_ = 0;                        // threads, in this phase
  std::uint32_t phase_ = 0;
  std::uint32_t grid_word_ = 0;
  bool has_whole_grid_ = false;
};

}  // namespace gpubench::model::ptx
