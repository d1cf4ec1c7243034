#include "harness/platform/model/engine/block_sample.hpp"

#include <algorithm>
#include <bit>
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
    const std::uint64_t turn = std::min<std::uint64_t>(32, std::bit_floor(end - begin));
    const std::uint64_t to_its_place = (i - begin) % turn;
    const std::uint64_t turns = (end - begin - to_its_place - 1) / turn + 1;
    const std::uint64_t anywhere =
        begin + to_its_place + turn * (random_bits(grid_blocks, i) % turns);
    chosen.push_back(candidate(i == 0 ? 0 : i + 1 == count ? size - 1 : anywhere));
  }
  sampled_[grid_blocks] = chosen;
  return chosen;
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
