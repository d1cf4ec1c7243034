#include "harness/platform/model/engine/block_sample.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>

#include "harness/contents/random.hpp"
#include "harness/platform/model/engine/grid.hpp"

namespace gpubench::model {
namespace {

double argument_bytes(const KernelLaunch& launch, const DeviceMemory& memory) {
  double bytes = 0;
  for (const Allocation* const allocation : argument_allocations(launch, memory)) {
    bytes += static_cast<double>(allocation->bytes);
  }
  return bytes;
}

// A block in the middle and those 1, 2, 4 ... before it, as far as a wave of blocks reaches. Where
// blocks take turns of a power of two at something, it is the last of a turn.
std::vector<std::uint64_t> in_a_row(std::uint64_t blocks, std::uint64_t wave) {
  constexpr std::uint64_t turn = 32;
  const std::uint64_t middle = std::min(blocks / 2 + wave, blocks - 1) / turn * turn;
  std::vector<std::uint64_t> row{middle > 0 ? middle - 1 : blocks / 2};
  const std::uint64_t farthest = std::min(wave - 1, row.front());
  for (std::uint64_t d = 1; d <= farthest; d *= 2) row.push_back(row.front() - d);
  return row;
}

constexpr std::uint64_t longest_turn = 32;

bool is_as_much(std::uint64_t one, std::uint64_t other) {
  constexpr std::uint64_t one_of = 64;
  return std::max(one, other) - std::min(one, other) <= std::max(one, other) / one_of;
}

// Whether blocks at the same place of a turn had as much work.
bool takes_turns(const BlockWork& work, std::uint64_t turn) {
  std::map<std::uint64_t, std::uint64_t> of_place;
  return std::ranges::all_of(work, [&](const auto& one) {
    const auto [block, cost] = one;
    return is_as_much(cost, of_place.try_emplace(block % turn, cost).first->second);
  });
}

// 1: the blocks take none, all have as much work, or too few have run to tell.
std::uint64_t turn_of(BlockWork work) {
  work.erase(std::prev(work.end()));  // the last one may be ragged
  for (std::uint64_t turn = 1; turn <= std::min<std::uint64_t>(longest_turn, work.size());
       turn *= 2) {
    if (takes_turns(work, turn)) return turn;
  }
  return 1;
}

}  // namespace

std::set<const Allocation*> argument_allocations(const KernelLaunch& launch,
                                                 const DeviceMemory& memory) {
  std::set<const Allocation*> allocations;
  for (const std::uint64_t word : launch.argument_words) {
    const Allocation* const allocation = allocation_at(memory, word);
    if (allocation != nullptr) allocations.insert(allocation);
  }
  return allocations;
}

std::vector<std::uint64_t> BlockSample::choose(std::uint64_t grid_blocks, std::size_t count) {
  // What a kernel of a sequence reads is often what the same blocks of an earlier one have written:
  // it runs none that those left out.
  const auto known = sampled_.find(grid_blocks);
  chose_freely_ = known == sampled_.end();
  const std::uint64_t size = known == sampled_.end() ? grid_blocks : known->second.size();
  const auto candidate = [&](std::uint64_t i) {
    return known == sampled_.end() ? i : known->second[i];
  };
  std::vector<std::uint64_t> chosen;
  if (size <= count) {
    for (std::uint64_t i = 0; i < size; ++i) chosen.push_back(candidate(i));
    return chosen;
  }
  // One of each equal stretch, and of the outermost ones their ends (where edges are). Blocks often
  // take turns at something: the chosen ones have each place among 32 (or a smaller power of two)
  // equally often, and are otherwise as good as random, since equal steps may meet few of, say, 206
  // places.
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = size * i / count, end = size * (i + 1) / count;
    const std::uint64_t turn = std::min(longest_turn, std::bit_floor(end - begin));
    const std::uint64_t to_its_place = (i - begin) % turn;
    const std::uint64_t turns = (end - begin - to_its_place - 1) / turn + 1;
    const std::uint64_t anywhere =
        begin + to_its_place + turn * (random_bits(grid_blocks, i) % turns);
    chosen.push_back(candidate(i == 0 ? 0 : i + 1 == count ? size - 1 : anywhere));
  }
  sampled_[grid_blocks] = chosen;
  return chosen;
}

std::vector<std::uint64_t> BlockSample::to_probe(const KernelLaunch& launch,
                                                 const BlockWork& work) const {
  constexpr std::uint64_t first_turn = 4;  // and the first block of the second one
  if (!chose_freely_ || launch.together > 1 || work.size() > first_turn || work.size() < 2)
    return {};
  if (linear(launch.grid) < 2 * first_turn) return {};
  if (is_as_much(work.begin()->second, work.rbegin()->second)) return {};
  std::vector<std::uint64_t> probes;
  for (std::uint64_t block = 1; block <= first_turn; ++block) {
    if (!work.contains(block)) probes.push_back(block);
  }
  return probes;
}

std::vector<std::uint64_t> BlockSample::to_balance(const KernelLaunch& launch, BlockWork work,
                                                   const std::vector<std::uint64_t>& counted) {
  if (!chose_freely_ || launch.together > 1 || work.empty()) return {};
  const std::uint64_t blocks = linear(launch.grid), turn = turn_of(work);
  if (turn == 1) return {};
  std::vector<std::size_t> seen(turn), ran(turn);
  for (const std::uint64_t block : counted) ++seen[block % turn];
  for (const auto& [block, cost] : work) ++ran[block % turn];
  const std::size_t most = std::ranges::max(seen);
  std::vector<std::uint64_t> more;
  for (std::uint64_t place = 0; place < turn; ++place) {
    const std::uint64_t turns = (blocks - place - 1) / turn + 1;
    std::uint64_t at = random_bits(blocks, place) % turns;
    for (; seen[place] < most && ran[place] < turns; ++seen[place], ++ran[place]) {
      while (work.contains(place + turn * at)) at = (at + 1) % turns;
      more.push_back(place + turn * at);
      work[more.back()] = 0;
    }
  }
  std::vector<std::uint64_t>& known = sampled_[blocks];
  known.insert(known.end(), more.begin(), more.end());
  std::ranges::sort(known);
  return more;
}

// Where neighbours share what they read matters only if not all of it stays in L2.
std::vector<std::uint64_t> BlockSample::to_compare(const KernelLaunch& launch) {
  const dim3 grid = launch.grid;
  const std::array<unsigned, 3> key{grid.x, grid.y, grid.z};
  const std::uint64_t blocks = linear(grid);
  if (const auto known = compared_.find(key); known != compared_.end()) return known->second;
  if (sampled_.contains(blocks)) return {};  // an earlier kernel may have left the neighbours out
  const double partitions = device_.find("l2_partitions").value_or(1);
  if (argument_bytes(launch, memory_) <= device_["l2_bytes"] / partitions) return {};
  const std::array<std::uint64_t, 3> extents{grid.x, grid.y, grid.z},
      steps{1, grid.x, std::uint64_t{grid.x} * grid.y};
  std::vector<std::uint64_t> compared{0};
  if (grid.y == 1 && grid.z == 1) {
    compared = in_a_row(blocks, static_cast<std::uint64_t>(device_["sm_count"]));
  } else {
    // At an odd place along each axis: where 2, 4, 8, ... blocks in a row share their sectors, the
    // one before it belongs to the same ones.
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      if (extents[axis] > 1) compared.front() += ((extents[axis] / 2 - 1) | 1) * steps[axis];
    }
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      if (extents[axis] > 1) compared.push_back(compared.front() - steps[axis]);
    }
  }
  // The last block runs before all others, and its reads are not kept.
  if (compared.size() == 1 || compared.front() + 1 == blocks) return {};
  return compared_[key] = compared;
}

}  // namespace gpubench::model
