// Which of a grid's blocks are run, where they take turns at several amounts of work.
#include "harness/platform/model/engine/block_sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpubench::model {
namespace {

class BlockSampleTest : public testing::Test {
 protected:
  BlockSampleTest() { launch.grid = dim3(blocks); }

  // Has a grid's blocks chosen, whose work `cost` tells; what to_balance() adds to those counted.
  template <class Cost>
  std::vector<std::uint64_t> added(std::size_t count, const Cost& cost) {
    BlockSample sample(spec, memory);
    BlockWork work;
    const auto run = [&](const std::vector<std::uint64_t>& chosen) {
      for (const std::uint64_t block : chosen) {
        EXPECT_LT(block, blocks);
        EXPECT_TRUE(work.emplace(block, cost(block)).second) << "twice: " << block;
      }
    };
    counted = sample.choose(blocks, count);
    run(counted);
    run(sample.to_probe(launch, work));
    const std::vector<std::uint64_t> more = sample.to_balance(launch, work, counted);
    run(more);
    counted.insert(counted.end(), more.begin(), more.end());
    return more;
  }
  template <class Cost>
  double mean(const Cost& cost) const {
    double sum = 0;
    for (const std::uint64_t block : counted) sum += static_cast<double>(cost(block));
    return sum / static_cast<double>(counted.size());
  }

  static constexpr unsigned blocks = 6144;
  const DeviceSpec spec = device_spec("h200-sxm");
  DeviceMemory memory{std::size_t{1} << 20};
  KernelLaunch launch;
  std::vector<std::uint64_t> counted;
};

// As the experts of a mixture have tokens: the mean of a sample is the grid's, whatever its size.
TEST_F(BlockSampleTest, EachAmountOfWorkIsAsFrequentInTheSampleAsInTheGrid) {
  constexpr std::uint64_t costs[] = {400, 200, 100, 900};
  const auto in_turns = [&](std::uint64_t block) { return costs[block % 4]; };
  for (std::size_t count = 2; count <= 32; ++count) {
    SCOPED_TRACE(count);
    const bool balanced = count % 4 == 0;
    const auto more = added(count, in_turns);
    EXPECT_EQ(more.empty(), balanced);
    EXPECT_LT(more.size(), 4u);
    EXPECT_DOUBLE_EQ(mean(in_turns), 400);
  }
}

TEST_F(BlockSampleTest, NothingIsAddedWhereBlocksTakeNoTurns) {
  const auto equal = [](std::uint64_t) { return std::uint64_t{400}; };
  const auto ragged = [](std::uint64_t block) {
    return std::uint64_t{block + 1 == blocks ? 7u : 400u};
  };
  const auto rising = [](std::uint64_t block) { return 100 + block; };
  for (std::size_t count = 2; count < 32; ++count) {
    SCOPED_TRACE(count);
    EXPECT_TRUE(added(count, equal).empty());
    EXPECT_TRUE(added(count, ragged).empty());
    if (count % 2 == 0) {
      EXPECT_TRUE(added(count, rising).empty());
    }
  }
}

// What an earlier kernel has left out, a later one may not read.
TEST_F(BlockSampleTest, BlocksThatAnEarlierKernelLeftOutAreNotAdded) {
  BlockSample sample(spec, memory);
  sample.choose(blocks, 7);
  counted = sample.choose(blocks, 6);
  BlockWork work;
  for (const std::uint64_t block : counted) work[block] = 100 * (1 + block % 4);
  EXPECT_TRUE(sample.to_balance(launch, work, counted).empty());
  counted = sample.choose(blocks, 3);
  work.clear();
  for (const std::uint64_t block : counted) work[block] = 100 * (1 + block % 4);
  EXPECT_TRUE(sample.to_probe(launch, work).empty());
}

}  // namespace
}  // namespace gpubench::model
