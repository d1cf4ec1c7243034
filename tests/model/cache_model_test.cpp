// What caches that replace at random serve, against a simulation of one and by hand.
#include "harness/platform/model/time/cache_model.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <unordered_map>
#include <vector>

#include "harness/platform/model/time/population.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/reuse_kernels.hpp"

namespace gpubench::model {
namespace {

// Lines, any of which may go when there is no more room.
class RandomCache {
 public:
  explicit RandomCache(std::size_t lines) : lines_(lines) {}
  bool hits(std::uint64_t line) {
    if (place_.contains(line)) return true;
    if (held_.size() < lines_) {
      place_[line] = held_.size();
      held_.push_back(line);
      return false;
    }
    const std::size_t victim = random_() % lines_;
    place_.erase(held_[victim]);
    held_[victim] = line;
    place_[line] = victim;
    return false;
  }

 private:
  std::size_t lines_;
  std::vector<std::uint64_t> held_;
  std::unordered_map<std::uint64_t, std::size_t> place_;
  std::mt19937_64 random_{9};
};

TEST(Caches, SweepsOverTooMuch) {
  for (const double ratio : {0.9, 1.1, 1.5, 2.0, 4.0}) {
    constexpr std::size_t capacity = 2000;
    const auto lines = static_cast<std::size_t>(ratio * capacity);
    RandomCache cache(capacity);
    std::size_t hits = 0;
    for (int pass = 0; pass < 60; ++pass) {
      for (std::size_t i = 0; i < lines; ++i) hits += cache.hits(i) && pass >= 20;
    }
    EXPECT_NEAR(swept_hits(ratio), static_cast<double>(hits) / (40.0 * static_cast<double>(lines)),
                0.02)
        << ratio;
  }
}

TEST(Caches, RandomReads) {
  for (const double ratio : {0.5, 1.0, 2.0, 5.0}) {
    constexpr std::size_t capacity = 2000;
    const auto lines = static_cast<std::uint64_t>(ratio * capacity);
    RandomCache cache(capacity);
    std::mt19937_64 random(4);
    std::size_t hits = 0;
    for (int i = 0; i < 200'000; ++i) hits += cache.hits(random() % lines) && i >= 100'000;
    EXPECT_NEAR(random_hits(ratio), static_cast<double>(hits) / 1e5, 0.02) << ratio;
  }
}

TEST(Caches, AnotherPartitionServesSomeOfWhatOnesOwnMisses) {
  const L2Shares one = l2_shares(0.4, 1);
  EXPECT_DOUBLE_EQ(one.near, 0.4);
  EXPECT_DOUBLE_EQ(one.far, 0);
  EXPECT_DOUBLE_EQ(one.missed, 0.6);
  const L2Shares two = l2_shares(0.4, 2);
  EXPECT_DOUBLE_EQ(two.near, 0.4);
  EXPECT_DOUBLE_EQ(two.far, 0.6 * 0.5 * 0.4);
  EXPECT_DOUBLE_EQ(two.near + two.far + two.missed, 1);
}

class ServedReads : public testing::Test {
 protected:
  // Every block sweeps over the same `sectors`, `passes` times.
  Reads sweep(std::uint64_t sectors, std::uint64_t passes, double fraction_held = 0) const {
    constexpr double blocks = 16;
    FootprintSums f;
    f.read_requests = static_cast<std::uint64_t>(blocks) * sectors * passes;
    f.read_by_block = static_cast<std::uint64_t>(blocks) * sectors;
    f.read_distinct = f.extent = sectors;
    f.read_extents = f.read_by_block;
    f.read_lines = sectors / 4;
    f.read_fetches = sectors / 2;
    const double again = blocks * static_cast<double>(sectors * (passes - 1));
    const auto kind = static_cast<std::size_t>(std::log2(static_cast<double>(sectors)));
    f.reuses[kind] = {again, again * static_cast<double>(sectors)};
    const std::vector<FootprintSums> all{f};
    const std::vector<Held> held{fraction_held};
    // 1000 SMs' worth of blocks for each of the device's 132.
    const CachedGrid grid{8250, blocks, spec["sm_count"], 4, 262144};
    return served_reads(all, held, grid, spec)[0];
  }
  static double missing(const Reads& reads, std::uint64_t sectors, std::uint64_t passes) {
    return reads.leaving_l1 / (16.0 * 8250 * static_cast<double>(sectors * passes));
  }
  const DeviceSpec spec = device_spec("h200-sxm");
};

TEST_F(ServedReads, WhatFitsInL1LeavesItOnceAnSm) {
  const Reads reads = sweep(4096, 8);  // half of L1
  EXPECT_NEAR(reads.leaving_l1, 4096 * spec["sm_count"], 1);
  EXPECT_NEAR(reads.dram_bytes, 4096 * 32, 64);
}

TEST_F(ServedReads, WhatIsTwiceL1MissesAsSweepsDo) {
  const Reads reads = sweep(16384, 8);
  EXPECT_NEAR(missing(reads, 16384, 8), 1 - swept_hits(2), 0.05);
  EXPECT_NEAR(reads.l2_missed, 16384, 1);  // once from DRAM, then from L2
}

TEST_F(ServedReads, WhatIsBeyondAPartitionIsServedByBothAndByDram) {
  const auto sectors = static_cast<std::uint64_t>(1.5 * spec["l2_bytes"] / 2 / 32) / 4 * 4;
  const Reads reads = sweep(sectors, 1);
  const L2Shares shares = l2_shares(swept_hits(1.5), 2);
  EXPECT_NEAR(reads.l2_far / reads.leaving_l1, shares.far, 0.02);
  EXPECT_NEAR(reads.l2_missed / reads.leaving_l1, shares.missed, 0.02);
}

TEST_F(ServedReads, NeighboursBringInForOneAnotherWhatL2CannotHold) {
  // A row's blocks read the same sectors, and all rows are beyond L2.
  const double rows = 1000, across = 64, sectors = 4096;
  ASSERT_GT(rows * sectors * 32, 2 * spec["l2_bytes"]);
  FootprintSums f;
  const double traced = 16;
  f.allocation_bytes = static_cast<std::size_t>(rows * sectors * 32);
  f.read_requests = f.read_by_block = f.read_extents = static_cast<std::uint64_t>(traced * sectors);
  f.read_distinct = f.read_by_block;  // no two of those traced are of one row
  f.read_lines = f.read_distinct / 4;
  f.read_fetches = f.read_distinct / 2;
  f.extent = static_cast<std::uint64_t>(rows * sectors);
  CachedGrid grid{rows * across / traced, traced, spec["sm_count"], 2, 4096};
  grid.extent = {across, rows, 1};
  grid.warps = 8;
  const auto dram = [&](double fraction, double skew) {
    f.shared[0] = {fraction, skew};
    const std::vector<FootprintSums> all{f};
    const std::vector<Held> held{0.0};
    return served_reads(all, held, grid, spec)[0].dram_bytes / (rows * sectors * 32);
  };
  const double apart = dram(0, 0);
  EXPECT_GT(apart, 20);             // each block for itself, of which L2 keeps a part
  EXPECT_NEAR(dram(1, 0), 1, 0.1);  // together: a row once
  EXPECT_GT(dram(0.5, 0), dram(1, 0));
  EXPECT_LT(dram(0.5, 0), apart);
  // As if apart where the last of them comes by long after the first.
  EXPECT_NEAR(dram(1, sectors * 1000), apart, 0.01 * apart);
}

// Each block looks twice at a row of its own, of 128 KiB; all rows are far beyond L2.
TEST_F(ServedReads, ARowIsReadAgainFromWhereItFits) {
  constexpr double rows = 100'000, traced = 16, row_bytes = 131072;
  constexpr auto sectors = static_cast<std::uint64_t>(row_bytes / sector_bytes);
  const auto passes = [&](double l1_bytes, double blocks_at_once, bool writes) {
    FootprintSums f;
    f.allocation_bytes = static_cast<std::size_t>(rows * row_bytes);
    f.read_by_block = f.read_distinct = f.read_extents =
        static_cast<std::uint64_t>(traced) * sectors;
    f.write_distinct = writes ? f.read_distinct : 0;
    f.read_requests = 2 * f.read_by_block;
    f.read_lines = f.read_distinct / 4;
    f.read_fetches = f.read_fetches_by_block = f.read_distinct / 2;
    f.extent = static_cast<std::uint64_t>(rows) * sectors;
    f.reuses[std::bit_width(sectors) - 1] = {traced * sectors, traced * sectors * sectors};
    const std::vector<FootprintSums> all{f};
    const std::vector<Held> held{0.0};
    CachedGrid grid{rows / traced, traced, spec["sm_count"], blocks_at_once, l1_bytes};
    grid.warps = 8;
    const Reads reads = served_reads(all, held, grid, spec)[0];
    return std::pair{reads.leaving_l1 * sector_bytes / (rows * row_bytes),
                     reads.dram_bytes / (rows * row_bytes)};
  };
  const double of_all = spec["sm_count"] * row_bytes, room = spec["l2_bytes"] / 1.5;
  EXPECT_EQ(passes(262144, 1, true), (std::pair{1.0, 1.0}));  // in L1
  ASSERT_LT(2 * of_all, room);                                // in L2, with what is written
  EXPECT_GT(passes(65536, 1, true).first, 1.8);
  EXPECT_NEAR(passes(65536, 1, true).second, 1, 1e-9);
  ASSERT_LT(2 * of_all, room);  // two of them, but for what is written
  ASSERT_GT(4 * of_all, room);
  EXPECT_NEAR(passes(65536, 2, false).second, 1, 1e-9);
  EXPECT_GT(passes(65536, 2, true).second, 1.5);
  EXPECT_GT(passes(65536, 8, true).second, 1.95);  // nowhere
}

TEST_F(ServedReads, WhatAnotherWarpHasJustAskedForComesWhenThatComes) {
  FootprintSums f;
  // A sector for every four reads, which three other warps repeat.
  f.read_by_block = f.read_distinct = f.extent = f.read_extents = 1 << 20;
  f.read_requests = 4 * f.read_by_block;
  f.read_lines = f.read_distinct / 4;
  f.read_fetches = f.read_fetches_by_block = f.read_distinct / 2;
  const double repeats = 3.0 * static_cast<double>(f.read_by_block);
  f.reuses[2] = {repeats, 4 * repeats};
  const CachedGrid grid{1, 1024, spec["sm_count"], 4, 262144};
  const auto waiting = [&] {
    const std::vector<FootprintSums> all{f};
    const std::vector<Held> held{0.0};
    return served_reads(all, held, grid, spec)[0].waiting_beyond_l1;
  };
  const double once = static_cast<double>(f.read_by_block);
  EXPECT_NEAR(waiting(), once, 0.01 * once);
  f.read_with_another = f.read_requests - f.read_by_block;
  EXPECT_NEAR(waiting(), 4 * once, 0.01 * once);
}

// With several warps, the order changes from one time to the next, and as much as fits stays.
TEST_F(ServedReads, OneWarpAloneLosesWhatItReadsInTheSameOrder) {
  constexpr std::uint64_t lines = 1024, times = 10;
  const auto lost = [&](double l1_bytes, double warps, std::uint64_t reads_a_line = 1) {
    FootprintSums f;
    f.allocation_bytes = lines * line_bytes;
    f.read_by_block = f.read_distinct = f.read_lines = f.read_fetches = lines;
    f.read_requests = times * reads_a_line * lines;
    f.read_extents = f.extent = lines * line_bytes / sector_bytes;
    const double again = (times - 1) * lines;
    const auto distance = static_cast<double>(reads_a_line * lines);
    f.reuses[std::bit_width(reads_a_line * lines) - 1] = {again, again * distance};
    const std::vector<FootprintSums> all{f};
    const std::vector<Held> held{1.0};
    CachedGrid grid{1, 1, 1, 1, l1_bytes};
    grid.warps = warps;
    return (served_reads(all, held, grid, spec)[0].leaving_l1 - lines) / again;
  };
  constexpr double bytes = lines * line_bytes;
  EXPECT_EQ(lost(bytes / 0.85, 1), 0);
  EXPECT_NEAR(lost(bytes / 0.99, 1), 0.5, 1e-6);
  EXPECT_EQ(lost(bytes / 1.25, 1), 1);
  EXPECT_EQ(lost(2 * bytes, 1, 8), 0) << "read eight times, a line takes no more room";
  EXPECT_LT(lost(bytes / 1.25, 8), 0.5);
}

TEST_F(ServedReads, ABlockThatReadsAWholeFetchMissesItOnce) {
  // Pieces of rows, of which blocks pick theirs here and there: far more than L2 holds.
  FootprintSums f;
  const double traced = 64, of_block = 4096;
  f.allocation_bytes = std::size_t{1} << 32;
  f.read_requests = f.read_by_block = static_cast<std::uint64_t>(traced * of_block);
  f.read_distinct = f.read_by_block * 9 / 10;
  f.read_extents = f.read_by_block * 100;  // nobody sweeps
  f.extent = f.allocation_bytes / 32;
  f.read_lines = f.read_distinct / 4;
  f.read_fetches = f.read_distinct / 2;
  const CachedGrid grid{1e4, traced, spec["sm_count"], 2, 4096};
  const auto dram = [&](std::uint64_t fetches_by_block) {
    f.read_fetches_by_block = fetches_by_block;
    const std::vector<FootprintSums> all{f};
    const std::vector<Held> held{0.0};
    return served_reads(all, held, grid, spec)[0].dram_bytes;
  };
  const double whole = dram(f.read_by_block / 2), alone = dram(f.read_by_block);
  EXPECT_NEAR(alone / whole, 2, 0.05);
}

TEST_F(ServedReads, BlocksInStepWaitTogetherForTheOtherPartition) {
  FootprintSums f;
  const double rows = 1000, sectors = 4096, traced = 16;
  f.allocation_bytes = static_cast<std::size_t>(rows * sectors * 32);
  f.read_requests = f.read_by_block = f.read_extents = static_cast<std::uint64_t>(traced * sectors);
  f.read_distinct = f.read_by_block;
  f.read_lines = f.read_distinct / 4;
  f.read_fetches = f.read_fetches_by_block = f.read_distinct / 2;
  f.extent = static_cast<std::uint64_t>(rows * sectors);
  CachedGrid grid{rows * 256 / traced, traced, spec["sm_count"], 1, 4096};
  grid.extent = {256, rows, 1};
  const auto far = [&](double skew, const DeviceSpec& device) {
    f.shared[0] = {1, skew};
    const std::vector<FootprintSums> all{f};
    const std::vector<Held> held{0.0};
    const Reads reads = served_reads(all, held, grid, device)[0];
    return reads.l2_far / (reads.l2_far + reads.l2_near);
  };
  EXPECT_NEAR(far(0, spec), 0.5, 0.01);
  EXPECT_NEAR(far(32, spec), 0.25, 0.01) << "some find the copy that their partition keeps";
  EXPECT_EQ(far(0, device_spec("rtx-4090")), 0) << "of one partition";
}

TEST_F(ServedReads, WhatIsHeldIsNotFetched) {
  EXPECT_NEAR(sweep(4096, 1, 1).dram_bytes, 0, 1e-6);
  EXPECT_NEAR(sweep(4096, 1, 0.5).dram_bytes, 4096 * 16, 64);
}

// How long ago a block read what it reads again, as the emulator sees it.
class ReuseTest : public EmulatorTest {
 protected:
  static constexpr unsigned length = 2048, sectors = length * sizeof(float) / sector_bytes;

  // What a launch reads again of `in`, the first of two allocations.
  template <class Launch>
  Reuse reuse_of(Launch&& launch) {
    counts_of(launch);
    Reuse sum;
    for (const Reuse& reuse : emulator.runs().back().profile.footprints[0].reuses) {
      sum.count += reuse.count;
      sum.distance += reuse.distance;
    }
    return sum;
  }
};

TEST_F(ReuseTest, AcrossABarrierAllWarpsHaveReadTheirPart) {
  constexpr unsigned blocks = 3;
  const float* in = upload(numbers(blocks * length));
  float* out = make<float>(blocks * length);
  const Reuse reuse = reuse_of([&] { kernels::look_twice(out, in, length, blocks); });
  EXPECT_EQ(reuse.count, blocks * sectors);
  EXPECT_EQ(reuse.mean(), sectors);  // of the whole block, not of one warp
  EXPECT_EQ(download(out, 1)[0], -16 * (0 + 15 * 128) / 2.0f);
}

TEST_F(ReuseTest, WithoutABarrierAWarpReadsAgainBehindItsOwnReads) {
  const float* in = upload(numbers(length));
  float* out = make<float>(kernels::looking_threads);
  const Reuse reuse = reuse_of([&] { kernels::read_twice(out, in, length, 1); });
  EXPECT_EQ(reuse.count, sectors);
  EXPECT_EQ(reuse.mean(), sectors / 4.0);  // four warps
}

}  // namespace
}  // namespace gpubench::model
