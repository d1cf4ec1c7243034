// How a block reads sectors again, told from reads that are noted one warp after the other.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>

#include "harness/platform/model/emulator/feeding_loads.hpp"
#include "harness/platform/model/emulator/footprint.hpp"

namespace gpubench::model {
namespace {

class BlockReads : public testing::Test {
 protected:
  LastRead read(std::uint64_t sector) { return sectors.read(sectors.at(sector), 0); }
  // As many sectors as a warp reads from the first on.
  void sweep(unsigned warp, std::uint64_t first, std::uint64_t count) {
    sectors.begin_warp(warp);
    for (std::uint64_t i = 0; i < count; ++i) read(first + i);
  }
  BlockSectors sectors;
};

TEST_F(BlockReads, AWarpsOwnAreAsFarApartAsItReadInBetween) {
  sectors.clear(8);
  sweep(0, 0, 100);
  const LastRead last = read(0);
  EXPECT_EQ(last.distance, 100u);
  EXPECT_FALSE(last.is_of_another_at_once);
  EXPECT_EQ(read(1000).distance, 0u) << "never read";
}

TEST_F(BlockReads, WarpsThatReadTheSameRunSideBySide) {
  sectors.clear(8);
  sweep(0, 0, 1000);
  sectors.begin_warp(1);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const LastRead last = read(i);
    ASSERT_EQ(last.distance, 8u) << "a sector of each warp, though 1000 were noted since";
    ASSERT_TRUE(last.is_of_another_at_once);
  }
}

TEST_F(BlockReads, WarpsThatComeByAtAnotherTimeFindWhatIsLeft) {
  sectors.clear(8);
  sweep(0, 0, 1000);
  sectors.begin_warp(1);
  const LastRead late = read(900);
  EXPECT_EQ(late.distance, 100u) << "no more than was noted";
  EXPECT_FALSE(late.is_of_another_at_once);
  // At its 51st read of what the first warp read at its 1st: 50 apart, of eight warps each.
  sweep(2, 5000, 50);
  const LastRead soon = read(0);
  EXPECT_EQ(soon.distance, 51u * 8);
  EXPECT_FALSE(soon.is_of_another_at_once);
}

TEST_F(BlockReads, AFetchIsOpenedOnceABlock) {
  sectors.clear();
  read(6);
  EXPECT_TRUE(sectors.is_first_of(6, 2));
  read(7);
  EXPECT_FALSE(sectors.is_first_of(7, 2)) << "beside sector 6";
  read(8);
  EXPECT_TRUE(sectors.is_first_of(8, 2)) << "the next fetch";
  sectors.at(11).written = 1;
  read(10);
  EXPECT_TRUE(sectors.is_first_of(10, 2)) << "its neighbour was written only";
  sectors.clear();
  read(7);
  EXPECT_TRUE(sectors.is_first_of(7, 2)) << "another block";
}

// Runs of two sectors, each so many sectors behind the last one's begin.
TEST(Jumps, AreThoseThatNoPatternHas) {
  const auto jumps = [](std::initializer_list<std::uint64_t> gaps) {
    DeviceMemory memory(1 << 20, 1);
    const auto address = reinterpret_cast<std::uint64_t>(memory.allocate(1 << 19));
    FootprintMap map(memory, 2);
    BlockSectors block;
    std::uint64_t sector = address / sector_bytes;
    for (const std::uint64_t gap : gaps) {
      sector += gap;
      block.at(sector).read = block.at(sector + 1).read = 1;
    }
    note_jumps(block, map);
    return map.sums().front().read_jumps_by_block;
  };
  EXPECT_EQ(jumps({0, 2, 30, 32, 20}), 0u) << "no farther than a page of 32";
  EXPECT_EQ(jumps({0, 128, 128, 128, 128}), 1u) << "equally far, but for the first";
  EXPECT_EQ(jumps({0, 100, 300, 200, 777}), 4u);
}

TEST(FeedingLoads, AreInFlightAFewTogether) {
  FeedingLoads loop;
  for (int i = 0; i < 12; ++i) {
    loop.load();
    loop.load();
    loop.use();
    loop.use();  // the same loads
  }
  EXPECT_DOUBLE_EQ(loop.waits(), 2 * 12 / feeding_loads_at_once);
  FeedingLoads hoisted;
  for (int i = 0; i < 16; ++i) hoisted.load();
  hoisted.use();
  EXPECT_DOUBLE_EQ(hoisted.waits(), 1) << "the source has them in flight together";
  FeedingLoads unused;
  unused.load();
  EXPECT_DOUBLE_EQ(unused.waits(), 0);
}

}  // namespace
}  // namespace gpubench::model
