// Which of a grid's blocks are run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "harness/devices/device.hpp"
#include "harness/platform/model/launch/executor.hpp"
#include "harness/platform/model/memory/memory.hpp"

namespace gpubench::model {

// Those that a launch's arguments point to.
std::set<const Allocation*> argument_allocations(const KernelLaunch& launch,
                                                 const DeviceMemory& memory);

// What running each of some blocks cost, by block.
using BlockWork = std::map<std::uint64_t, std::uint64_t>;

class BlockSample {
 public:
  // Both must outlive the sample.
  BlockSample(const DeviceSpec& device, const DeviceMemory& memory)
      : device_(device), memory_(memory) {}

  std::vector<std::uint64_t> choose(std::uint64_t grid_blocks, std::size_t count);
  // Blocks to run, not to count, after those that choose() has just chosen: where these are too few
  // to tell whether blocks take turns at several amounts of work, and had different amounts.
  std::vector<std::uint64_t> to_probe(const KernelLaunch& launch, const BlockWork& work) const;
  // Blocks to count as well: where blocks take such turns, as many as make each amount as frequent
  // among those counted as in the grid. `work`: of all that have run.
  std::vector<std::uint64_t> to_balance(const KernelLaunch& launch, BlockWork work,
                                        const std::vector<std::uint64_t>& counted);
  // Two neighbours or more, the first of which is next to each of the others; or none.
  std::vector<std::uint64_t> to_compare(const KernelLaunch& launch);
  // A new sequence of kernels begins.
  void forget() {
    sampled_.clear();
    compared_.clear();
  }

 private:
  const DeviceSpec& device_;
  const DeviceMemory& memory_;
  // The blocks that the last kernel with so many blocks ran, since forget().
  std::map<std::uint64_t, std::vector<std::uint64_t>> sampled_;
  bool chose_freely_ = false;  // the last time: no earlier kernel decides what may run
  // Those that the first of these kernels compared with each other, by the extents of the grid.
  std::map<std::array<unsigned, 3>, std::vector<std::uint64_t>> compared_;
};

}  // namespace gpubench::model
