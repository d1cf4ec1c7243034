// Runs blocks in turns, those of a cluster or of a small cooperative grid: each as far as it comes
// without the others.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/platform/model/emulator/block_runner.hpp"
#include "harness/platform/model/emulator/cluster_memory.hpp"

namespace gpubench::model {

class ClusterRunner {
 public:
  // Both must outlive the runner.
  ClusterRunner(DeviceMemory& memory, const MappedHost& is_mapped_host, const Ordering& ordering)
      : memory_(memory), is_mapped_host_(is_mapped_host), ordering_(ordering) {}

  // To be called on the thread that will run blocks.
  void attach();
  // Runs the launch's blocks from `first` on, as many as are to run together, to their end, and
  // returns their results in order. The fault of one is the first one's.
  std::vector<BlockResult> run(const KernelLaunch& launch, dim3 first, bool traced);
  const BlockRunner& block(unsigned number) const { return *blocks_[number]; }

 private:
  void begin(const KernelLaunch& launch, dim3 first, bool traced);
  // Lets the blocks take turns until all have ended; what went wrong between them, or "".
  std::string run_to_end();
  std::string stuck();

  DeviceMemory& memory_;
  const MappedHost& is_mapped_host_;
  const Ordering ordering_;
  std::vector<std::unique_ptr<BlockRunner>> blocks_;  // as many as have ever run together
  unsigned size_ = 0;                                 // that run now
  bool traced_ = false;
  ClusterMemory cluster_;
};

}  // namespace gpubench::model
