// Cooperative groups on the emulator.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/groups_kernels.hpp"

namespace gpubench::model {
namespace {

class GroupsTest : public EmulatorTest {
 protected:
  static constexpr unsigned threads = 64;
};

TEST_F(GroupsTest, Ranks) {
  const unsigned blocks = 6, in_block = 24;
  auto* out = make<kernels::GroupRanks>(blocks * in_block);
  kernels::rank_groups(out, dim3(3, 2), dim3(4, 3, 2));
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const auto ranks = download(out, blocks * in_block);
  for (unsigned i = 0; i < ranks.size(); ++i) {
    const unsigned rank = i % in_block;
    EXPECT_EQ(ranks[i].grid_rank, i);
    EXPECT_EQ(ranks[i].grid_size, blocks * in_block);
    EXPECT_EQ(ranks[i].block_rank, rank);
    EXPECT_EQ(ranks[i].block_size, in_block);
    EXPECT_EQ(ranks[i].tile_rank, rank % 8);
    EXPECT_EQ(ranks[i].tile_size, 8);
    EXPECT_EQ(ranks[i].tile, rank / 8);
    EXPECT_EQ(ranks[i].tiles, 3);
    EXPECT_EQ(ranks[i].inner_tile, rank % 8 / 4);
    EXPECT_EQ(ranks[i].inner_tiles, 2);
  }
}

TEST_F(GroupsTest, WhatComesFromALaneThatTheMaskLeavesOutIsNoNumber) {
  unsigned* out = make<unsigned>(17);
  counts_of([&] { kernels::sum_of_half(out + 16, out); });
  const std::vector<unsigned> values = download(out, 17);
  for (unsigned lane = 0; lane < 16; ++lane) EXPECT_EQ(values[lane], lane < 8 ? lane + 8 : ~0u);
  EXPECT_EQ(values[16], 120u);
}

TEST_F(GroupsTest, ExchangesStayInTheTile) {
  auto* out = make<kernels::TileExchanges>(threads);
  for (const unsigned size : {4u, 16u, 32u}) {
    const Counts counts = counts_of([&] { kernels::exchange_in_tiles(size, out); });
    EXPECT_EQ(counts.at(WarpOperation::shuffle) + counts.at(WarpOperation::vote) +
                  counts.at(WarpOperation::warp_barrier),
              8.0 * threads / size);
    const auto results = download(out, threads);
    for (unsigned i = 0; i < threads; ++i) {
      const unsigned first = i / size * size, last = first + size - 1;
      EXPECT_EQ(results[i].first, first);
      EXPECT_EQ(results[i].up, i == first ? i : i - 1);
      EXPECT_EQ(results[i].down, std::min(i + 1, last));
      EXPECT_EQ(results[i].exchanged, i ^ 1);
      unsigned votes = 0;
      for (unsigned k = 0; k < size; ++k) votes |= ((first + k) % 3 == 0 ? 1u : 0u) << k;
      EXPECT_EQ(results[i].votes, votes);
      EXPECT_EQ(results[i].any, first <= 5 && 5 <= last);
      EXPECT_EQ(results[i].all, first >= 32);
    }
  }
}

TEST_F(GroupsTest, Reductions) {
  std::vector<int> in;
  for (unsigned i = 0; i < threads; ++i) in.push_back(static_cast<int>(i * 37 % 101) - 50);
  const int* from = upload(in);
  auto* out = make<kernels::TileReductions>(threads);
  for (const unsigned size : {4u, 16u, 32u}) {
    kernels::reduce_in_tiles(size, out, from);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    const auto results = download(out, threads);
    for (unsigned i = 0; i < threads; ++i) {
      const auto begin = in.begin() + i / size * size, end = begin + size;
      EXPECT_EQ(results[i].sum, std::accumulate(begin, end, 0));
      EXPECT_EQ(results[i].least, *std::min_element(begin, end));
      EXPECT_EQ(results[i].greatest, *std::max_element(begin, end));
      EXPECT_EQ(results[i].both, std::accumulate(begin, end, -1, std::bit_and<>()));
      EXPECT_EQ(results[i].either, std::accumulate(begin, end, 0, std::bit_or<>()));
      EXPECT_EQ(results[i].odd, std::accumulate(begin, end, 0, std::bit_xor<>()));
    }
  }
}

TEST_F(GroupsTest, ABlocksBarrier) {
  unsigned* out = make<unsigned>(threads);
  const Counts counts = counts_of([&] { kernels::reverse_by_block(out); });
  EXPECT_EQ(counts.barriers, 2);  // a warp each
  const auto results = download(out, threads);
  for (unsigned i = 0; i < threads; ++i) EXPECT_EQ(results[i], threads - 1 - i);
}

TEST_F(GroupsTest, AGridMeetsInACooperativeLaunch) {
  for (const dim3 grid : {dim3(1), dim3(5), dim3(3, 2, 2)}) {
    const unsigned blocks = grid.x * grid.y * grid.z, all = blocks * threads;
    unsigned *stage = make<unsigned>(all), *out = make<unsigned>(all);
    const Counts counts = counts_of([&] { kernels::reverse_by_meeting_grid(stage, out, grid); });
    EXPECT_EQ(counts.cluster_barriers, 2.0 * blocks);  // a warp each
    EXPECT_EQ(counts.barriers, 4.0 * blocks);          // the block meets before as well
    const auto results = download(out, all);
    for (unsigned i = 0; i < all; ++i) EXPECT_EQ(results[i], all - 1 - i);
  }
}

// However many run side by side, they are no cluster.
TEST_F(GroupsTest, ABlockOfACooperativeGridIsAClusterByItself) {
  constexpr unsigned warps = 2;
  for (const unsigned blocks : {1u, 5u, 40u}) {
    unsigned* const out = make<unsigned>(2 * blocks);
    const Counts counts = counts_of([&] { kernels::meet_by_block_and_grid(out, blocks); });
    EXPECT_EQ(emulator.runs().back().profile.cluster, 1);
    EXPECT_EQ(counts.cluster_barriers, warps * blocks);  // the grid's alone
    EXPECT_EQ(counts.barriers, warps * (3 * blocks + 1));
    const auto seen = download(out, 2 * blocks);
    for (unsigned i = 0; i < 2 * blocks; ++i) EXPECT_EQ(seen[i], i % 2);
  }
}

TEST_F(GroupsTest, StaticSharedMemoryInACooperativeGridIsRefused) {
  unsigned* const out = make<unsigned>(2);
  const std::string fault = fault_of([&] { kernels::keep_in_static_shared(out, 2); });
  EXPECT_NE(fault.find("only one for all blocks of a cooperative grid, accessed"),
            std::string::npos)
      << fault;
}

TEST_F(GroupsTest, AGridDoesNotMeetInAnyOtherLaunch) {
  unsigned *stage = make<unsigned>(threads), *out = make<unsigned>(threads);
  const std::string fault = fault_of([&] { kernels::reverse_by_grid(stage, out, 1); });
  EXPECT_NE(fault.find("this_grid().sync()"), std::string::npos) << fault;
  EXPECT_NE(fault.find("not cooperative"), std::string::npos) << fault;
  EXPECT_NE(fault.find("groups_kernels.cpp:" + std::to_string(kernels::grid_barrier_line)),
            std::string::npos)
      << fault;
}

TEST_F(GroupsTest, AGridThatIsNotResidentAtOnceIsRefused) {
  constexpr unsigned blocks = 1 << 16;
  unsigned* out = make<unsigned>(blocks * threads);
  cudaError_t code = cudaSuccess;
  try {
    kernels::reverse_by_meeting_grid(out, out, blocks);
  } catch (const CudaError& error) {
    code = error.code();
  }
  EXPECT_EQ(code, cudaErrorCooperativeLaunchTooLarge);
}

}  // namespace
}  // namespace gpubench::model
