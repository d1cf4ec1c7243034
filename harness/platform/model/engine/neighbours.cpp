#include "harness/platform/model/engine/neighbours.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <sstream>
#include <unordered_map>

#include "harness/platform/model/emulator/source_location.hpp"
#include "harness/platform/model/engine/grid.hpp"
#include "harness/platform/model/memory/host_memory.hpp"

namespace gpubench::model {
namespace {

// What a block has in common with another one of one allocation's reads.
struct InCommon {
  double all = 0, shared = 0, skew = 0;
  double fraction() const { return shared / all; }
};

// Blocks `distance` before one block, and what they share with it of one allocation.
using ByDistance = std::map<std::uint64_t, InCommon>;

// The share of its reads that each further block of a wave finds read by the others. Blocks take
// tiles in some order: a row of tiles is the same for so many blocks in a row, or comes back after
// so many; both are told by distances of powers of two.
double shared_in_a_wave(const ByDistance& at, double wave) {
  const auto shares = [](const auto& one) { return one.second.fraction() > 0.5; };
  const auto nearest = std::ranges::find_if(at, shares);
  if (nearest == at.end() || wave < 2) return at.begin()->second.fraction();
  double distinct = std::min<double>(wave, static_cast<double>(nearest->first));  // comes back
  if (nearest->first == 1) {
    auto farthest = nearest;  // of those without a gap
    while (std::next(farthest) != at.end() && shares(*std::next(farthest))) ++farthest;
    distinct = std::max(1.0, wave / (2 * static_cast<double>(farthest->first)));
  }
  return 1 - (distinct - 1) / (wave - 1);
}

void note_shared_in_a_row(std::vector<FootprintSums>& footprints,
                          const std::map<std::uint64_t, ByDistance>& found, double wave) {
  for (FootprintSums& f : footprints) {
    const auto of = found.find(f.identity);
    if (of == found.end()) continue;
    InCommon sum;
    for (const auto& [distance, one] : of->second) {
      sum.shared += one.shared;
      sum.skew += one.skew;
    }
    f.shared[0] = {shared_in_a_wave(of->second, wave), sum.shared > 0 ? sum.skew / sum.shared : 0};
  }
}

}  // namespace

void note_shared(std::vector<FootprintSums>& footprints, std::span<const std::uint64_t> compared,
                 const ReadSectors& reads, dim3 grid, double wave, FootprintMap& map) {
  if (compared.empty()) return;
  const bool in_a_row = grid.y == 1 && grid.z == 1;
  std::map<std::uint64_t, ByDistance> by_distance;  // by allocation
  std::unordered_map<std::uint64_t, std::size_t> turns;
  const auto& own_reads = reads.at(compared.front());
  constexpr std::size_t node_bytes = 64;  // of the map, with its share of the table
  ask_to_keep(own_reads.size(), node_bytes);
  for (const auto& [sector, turn] : own_reads) turns.emplace(sector, turn);
  const dim3 at = block_at(compared.front(), grid);
  for (const std::uint64_t index : compared.subspan(1)) {
    const dim3 other = block_at(index, grid);
    const std::size_t axis = other.x != at.x ? 0 : other.y != at.y ? 1 : 2;
    std::map<std::uint64_t, InCommon> sums;  // by allocation
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
    if (in_a_row) {
      for (const auto& [identity, sum] : sums) {
        by_distance[identity][compared.front() - index] = sum;
      }
      continue;
    }
    for (FootprintSums& f : footprints) {
      const auto found = sums.find(f.identity);
      if (found == sums.end()) continue;
      const auto& [all, shared, skew] = found->second;
      f.shared[axis] = {shared / all, shared > 0 ? skew / shared : 0};
    }
  }
  note_shared_in_a_row(footprints, by_distance, std::min<double>(wave, grid.x));
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
