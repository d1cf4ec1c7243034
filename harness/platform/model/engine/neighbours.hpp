// What neighbouring blocks of a grid have to do with each other: reads that they share, and races.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/platform/model/emulator/block_engine.hpp"
#include "harness/platform/model/emulator/footprint.hpp"
#include "harness/platform/model/launch/executor.hpp"

namespace gpubench::model {

// A sector, and how many others its warp had read in the block before it.
struct ReadSector {
  std::uint64_t sector;
  std::size_t turn;
};
using ReadSectors = std::map<std::uint64_t, std::vector<ReadSector>>;  // of blocks

// Puts into the footprints how much of its reads a block shares with its neighbours, of which
// `reads` has the sectors in order: `compared` are a block and neighbours of it; in a grid of one
// dimension those 1, 2, 4 ... before it, of `wave` blocks that run at once.
void note_shared(std::vector<FootprintSums>& footprints, std::span<const std::uint64_t> compared,
                 const ReadSectors& reads, dim3 grid, double wave, FootprintMap& map);

// One line; `engine` knows the launch's memory.
std::string describe_race(const FootprintMap::Race& race, const KernelLaunch& launch,
                          const BlockEngine& engine);

}  // namespace gpubench::model
