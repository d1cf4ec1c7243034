#include "harness/platform/model/engine/neighbours.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <sstream>
#include <unordered_map>

#include "harness/platform/model/emulator/source_location.hpp"
#include "harness/platform/model/engine/grid.hpp"

namespace gpubench::model {

void note_shared(std::vector<FootprintSums>& footprints, std::span<const std::uint64_t> compared,
                 const ReadSectors& reads, dim3 grid, FootprintMap& map) {
  if (compared.empty()) return;
  std::unordered_map<std::uint64_t, std::size_t> turns;
  for (const auto& [sector, turn] : reads.at(compared.front())) turns.emplace(sector, turn);
  const dim3 at = block_at(compared.front(), grid);
  for (const std::uint64_t index : compared.subspan(1)) {
    const dim3 other = block_at(index, grid);
    const std::size_t axis = other.x != at.x ? 0 : other.y != at.y ? 1 : 2;
    std::map<std::uint64_t, std::array<double, 3>> sums;  // by allocation: all, shared, skew
    for (const auto& [sector, turn] : reads.at(index)) {
      const Footprint* const footprint = map.at(sector * sector_bytes);
      if (footprint == nullptr) continue;
      auto& [all, shared, skew] = sums[footprint->identity()];
      all += 1;
      if (const auto own = turns.find(sector); own != turns.end()) {
        shared += 1;
        skew += std::abs(static_cast<double>(turn) - static_cast<double>(own->second));
      }
    }
    for (FootprintSums& f : footprints) {
      const auto found = sums.find(f.identity);
      if (found == sums.end()) continue;
      const auto& [all, shared, skew] = found->second;
      f.shared[axis] = {shared / all, shared > 0 ? skew / shared : 0};
    }
  }
}

std::string describe_race(const FootprintMap::Race& race, const KernelLaunch& launch,
                          const BlockEngine& engine) {
  const bool wrote = (race.mine.written & race.bytes) != 0;
  const Event access = wrote ? race.mine.first_write : race.mine.first_read;
  const auto first = static_cast<unsigned>(std::countr_zero(race.bytes));
  const auto last = 31 - static_cast<unsigned>(std::countl_zero(race.bytes));
  const std::uint64_t sector = race.mine.sector * sector_bytes;
  const auto [home, begin] = engine.home_of(sector + first);
  const dim3 at = block_at(race.block, launch.grid);
  std::ostringstream text;
  text << "race between blocks: bytes " << sector + first - begin << ".." << sector + last - begin
       << " of " << home << (wrote ? " are written" : " are read") << " by block (" << at.x << ','
       << at.y << ',' << at.z << ") at "
       << source_location(reinterpret_cast<const void*>(code_address_of(access))) << ", and "
       << (wrote ? "read or written" : "written")
       << " by another, which nothing orders within a launch";
  return text.str();
}

}  // namespace gpubench::model
