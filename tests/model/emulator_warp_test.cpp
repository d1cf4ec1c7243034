// Kernels whose every count follows from arithmetic, run through the model's CUDA runtime: what
// diverges, and what warps and blocks do together.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/emulator_kernels.hpp"

namespace gpubench::model {
namespace {

// --- divergence ---

TEST_F(EmulatorTest, BothSidesOfABranch) {
  const float* a = upload(numbers(32));
  const float* b = upload(numbers(32));
  for (const unsigned split : {0u, 1u, 13u, 31u, 32u}) {
    float* out = make<float>(64);
    float* other = make<float>(32);
    const Counts counts = counts_of([&] { kernels::branch(out, other, a, b, split); });
    const double sides = (split > 0) + (split < 32);
    expect_access(counts.at(Space::global, Access::load), sides, 32, 128);
    // After the branch the warp is one again.
    expect_access(counts.at(Space::global, Access::store), sides + 1, 64, 256);
    EXPECT_EQ(counts.at(Space::global, Access::load).sectors, (split + 7) / 8 + 4 - split / 8);
  }
}

TEST_F(EmulatorTest, LoopsOfLaneDependentLength) {
  const float* in = upload(numbers(32 * 32));
  float* out = make<float>(64);
  // Iteration k has the lanes above k; the store after the loop has all again.
  const Counts trips = counts_of([&] { kernels::lane_trips(out, in); });
  expect_access(trips.at(Space::global, Access::load), 31, 31 * 32 / 2, 4 * 31 * 32 / 2);
  expect_access(trips.at(Space::global, Access::store), 1, 32, 128);
  // Lanes with lane % 4 = m run 1 + ... + m inner iterations: 0, 1, 3, 6.
  const auto nested = loads_of([&] { kernels::nested_trips(out, in); });
  expect_access(nested, 6, 8 * (0 + 1 + 3 + 6), 4 * 8 * 10);
}

TEST_F(EmulatorTest, ABranchInALoopIsZippedByIteration) {
  const float* a = upload(numbers(40 * 32));
  const float* b = upload(numbers(40 * 32));
  float* out = make<float>(32);
  // Each side has half the lanes in every iteration. Counting each lane's n-th visit of a load
  // would pair iterations 2 n and 2 n + 1: half the requests, with 32 lanes each.
  const Counts counts = counts_of([&] { kernels::alternate(out, a, b, 40); });
  expect_access(counts.at(Space::global, Access::load), 2 * 40, 32 * 40, 4 * 32 * 40);
  expect_access(counts.at(Space::global, Access::store), 1, 32, 128);
  const auto skipped = loads_of([&] { kernels::skip_alternate(out, a, 40); });
  expect_access(skipped, 40, 16 * 40, 4 * 16 * 40);
}

TEST_F(EmulatorTest, LeavingALoopEarly) {
  const float* in = upload(numbers(20 * 32));
  float* out = make<float>(64);
  double lanes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) lanes += lane % 7;
  const Counts counts = counts_of([&] { kernels::break_at(out, in, 20); });
  expect_access(counts.at(Space::global, Access::load), 6, lanes, 4 * lanes);
  expect_access(counts.at(Space::global, Access::store), 1, 32, 128);
  // What stands before the break is executed in five different iterations; what follows, once.
  double leave = 0, loads = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    leave += lane % 7 < 5;
    loads += std::min(lane % 7, 5u);
  }
  const Counts stored = counts_of([&] { kernels::store_and_break(out, in, 5); });
  expect_access(stored.at(Space::global, Access::load), 5, loads, 4 * loads);
  expect_access(stored.at(Space::global, Access::store), 5 + 1, leave + 32, 4 * (leave + 32));
}

TEST_F(EmulatorTest, LanesThatReturnDoNotSplitTheOthers) {
  const float* in = upload(numbers(20 * 32));
  float* out = make<float>(64);
  // Lanes with lane % 7 < 3 return inside the loop. The others leave it after 3 or 4 iterations,
  // unless a lane returns in the fourth (lane % 7 = 3 and odd), and then store together.
  double stay = 0;
  for (unsigned lane = 0; lane < 32; ++lane) stay += lane % 7 >= 3 + lane % 2;
  const Counts counts = counts_of([&] { kernels::return_early(out, in, 3); });
  expect_access(counts.at(Space::global, Access::store), 1, stay, 4 * stay);
  EXPECT_EQ(counts.at(Space::global, Access::load).requests, 4);
}

// Lanes that are in one iteration of every loop make one request; found lane by lane here.
TEST_F(EmulatorTest, RandomWalksThroughLoopsAndBranchesZipByIteration) {
  constexpr unsigned threads = 128;
  const float* in = upload(
      numbers(kernels::walk_sites * kernels::walk_trips * kernels::walk_inner_trips * threads));
  float* out = make<float>(threads);
  unsigned partial = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    // By warp, site and iterations: which lanes.
    std::map<std::array<unsigned, 4>, std::uint32_t> requests;
    for (unsigned thread = 0; thread < threads; ++thread) {
      const auto chosen = [&](unsigned what, unsigned j, unsigned k, unsigned one_in) {
        return kernels::choice(seed, what, j, k, thread, one_in);
      };
      const auto at = [&](unsigned site, unsigned j, unsigned k) {
        requests[{thread / 32, site, j, k}] |= 1u << thread % 32;
      };
      for (unsigned j = 0; j < kernels::walk_trips && !chosen(0, j, 0, 6); ++j) {
        if (chosen(1, j, 0, 2)) {
          at(0, j, 0);
          if (chosen(2, j, 0, 3)) continue;
          at(1, j, 0);
        } else {
          for (unsigned k = 0; k < kernels::walk_inner_trips; ++k) {
            if (chosen(3, j, k, 4)) continue;
            at(2, j, k);
            if (chosen(4, j, k, 5)) break;
            if (chosen(5, j, k, 2)) at(3, j, k);
          }
        }
        at(4, j, 0);
      }
    }
    double lanes = 0, sectors = 0;
    for (const auto& [key, mask] : requests) {
      lanes += std::popcount(mask);
      for (unsigned group = 0; group < 4; ++group) sectors += (mask >> 8 * group & 0xff) != 0;
      partial += mask != ~0u;
    }
    const Counts counts = counts_of([&] { kernels::walk(out, in, seed); });
    const AccessCounts& loads = counts.at(Space::global, Access::load);
    ASSERT_EQ(loads.requests, requests.size()) << "seed " << seed;
    ASSERT_EQ(loads.lanes, lanes) << "seed " << seed;
    ASSERT_EQ(loads.sectors, sectors) << "seed " << seed;
    ASSERT_EQ(counts.at(Space::global, Access::store).requests, 4) << "seed " << seed;
  }
  EXPECT_GT(partial, 50000u);
}

TEST_F(EmulatorTest, OneFunctionCalledFromTwoPlaces) {
  const float* in = upload(numbers(128));
  float* out = make<float>(32);
  const auto loads = loads_of([&] { kernels::call_from_two_places(out, in, 10); });
  expect_access(loads, 4, 64, 256);
  const std::vector<float> sums = download(out, 32);
  EXPECT_EQ(sums[9], 9 + 41);
  EXPECT_EQ(sums[10], 2 * (74 + 106));
}

// --- warps and blocks ---

TEST_F(EmulatorTest, ShufflesOfEveryKindWidthAndDistance) {
  unsigned* out = make<unsigned>(32);
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    for (unsigned argument = 0; argument < 32; ++argument) {
      const int distance = static_cast<int>(argument);
      // The PTX manual's pseudocode of shfl.sync, with its masks written out.
      const std::function<int(int)> sources[] = {
          [&](int lane) { return lane / width * width + distance % width; },
          [&](int lane) { return lane % width - distance >= 0 ? lane - distance : lane; },
          [&](int lane) { return lane % width + distance < width ? lane + distance : lane; },
          [&](int lane) {
            return (lane ^ distance) <= (lane | (width - 1)) ? lane ^ distance : lane;
          }};
      for (int how = 0; how < 4; ++how) {
        const Counts counts = counts_of(
            [&] { kernels::exchange(static_cast<kernels::Exchange>(how), out, argument, width); });
        ASSERT_EQ(counts.at(WarpOperation::shuffle), 1);
        const std::vector<unsigned> values = download(out, 32);
        for (int lane = 0; lane < 32; ++lane) {
          ASSERT_EQ(values[static_cast<std::size_t>(lane)], 100 + sources[how](lane))
              << "kind " << how << ", width " << width << ", argument " << argument;
        }
      }
    }
  }
}

TEST_F(EmulatorTest, ShufflesOfEightBytes) {
  double* out = make<double>(32);
  counts_of([&] { kernels::exchange_wide(out); });
  const std::vector<double> values = download(out, 32);
  for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(values[lane], std::min(lane + 1, 31u) + .25);
}

TEST_F(EmulatorTest, Votes) {
  unsigned* out = make<unsigned>(96);
  const Counts counts = counts_of([&] { kernels::votes(out); });
  EXPECT_EQ(counts.at(WarpOperation::vote), 4);
  EXPECT_EQ(counts.at(WarpOperation::warp_barrier), 1);
  const std::vector<unsigned> values = download(out, 96);
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(values[lane], 0x1fu);
    EXPECT_EQ(values[32 + lane], 1u);  // not any, but all
    EXPECT_EQ(values[64 + lane], lane < 8 ? 0x1fu : ~0u);
  }
}

TEST_F(EmulatorTest, BlockReduction) {
  constexpr unsigned blocks = 5, elements = 3000;
  const float* in = upload(std::vector<float>(elements, 1));
  float* out = make<float>(blocks);
  const Counts counts = counts_of([&] { kernels::reduce_blocks(out, in, elements, blocks); });
  // 3000 = 2 * 1280 + 440: block 0 has three full rounds, block 1 184 elements of the third.
  EXPECT_EQ(download(out, blocks), (std::vector<float>{768, 696, 512, 512, 512}));
  EXPECT_EQ(counts.barriers, blocks * 8 * 8);
  // With eight warps, 4, 2, 1 and then one with 16, 8, 4, 2, 1 lanes take part in each halving.
  const AccessCounts& loads = counts.at(Space::shared, Access::load);
  EXPECT_EQ(loads.requests, blocks * (2 * (4 + 2 + 1 + 5) + 1));
  EXPECT_EQ(loads.lanes, blocks * (2 * 255 + 1));
  EXPECT_EQ(loads.wavefronts, loads.requests);
  EXPECT_EQ(counts.at(Space::global, Access::load).lanes, elements);
}

TEST_F(EmulatorTest, ReductionByShuffles) {
  const std::vector<float> in = numbers(4 * 256);
  const float* from = upload(in);
  float* out = make<float>(4);
  const Counts counts = counts_of([&] { kernels::reduce_by_warps(out, from, 4); });
  for (unsigned block = 0; block < 4; ++block) {
    EXPECT_EQ(download(out, 4)[block], 256 * (256 * block) + 255 * 128);
  }
  EXPECT_EQ(counts.at(WarpOperation::shuffle), 4 * 8 * 5);
  EXPECT_EQ(counts.barriers, 4 * 8);
  // One lane of each warp stores, one lane of a block loads.
  expect_access(counts.at(Space::shared, Access::store), 4 * 8, 4 * 8, 4 * 8 * 4);
  expect_access(counts.at(Space::shared, Access::load), 4 * 8, 4 * 8, 4 * 8 * 4);
}

TEST_F(EmulatorTest, AtomicsOfSeveralBlocks) {
  constexpr unsigned blocks = 100;
  std::vector<unsigned> values(blocks * 256);
  std::vector<unsigned> expected(64);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<unsigned>(i * i % 64);
    ++expected[values[i]];
  }
  const unsigned* in = upload(values);
  unsigned* bins = upload(std::vector<unsigned>(64, 0));
  const Counts counts = counts_of([&] { kernels::histogram(bins, in, blocks); });
  EXPECT_EQ(download(bins, 64), expected);
  expect_access(counts.at(Space::shared, Access::atomic), blocks * 8, blocks * 256, blocks * 1024);
  expect_access(counts.at(Space::global, Access::atomic), blocks * 2, blocks * 64, blocks * 256);
  EXPECT_EQ(counts.at(Space::global, Access::atomic).sectors, blocks * 8);
}

TEST_F(EmulatorTest, AtomicsOfEveryType) {
  float* a = upload(std::vector<float>{0});
  double* b = upload(std::vector<double>{0});
  int* c = upload(std::vector<int>{0});
  unsigned long long* d = upload(std::vector<unsigned long long>{0});
  const Counts counts = counts_of([&] { kernels::add_atomically(a, b, c, d, 50); });
  EXPECT_EQ(download(a, 1)[0], 3200);
  EXPECT_EQ(download(b, 1)[0], 1600);
  EXPECT_EQ(download(c, 1)[0], 3200);
  EXPECT_EQ(download(d, 1)[0], 9600);
  expect_access(counts.at(Space::global, Access::atomic), 50 * 2 * 4, 3200 * 4, 3200 * 24);
}

TEST_F(EmulatorTest, FusedMultiplyAddsAreCountedByLane) {
  float* out = make<float>(40);
  double* wide = make<double>(40);
  const Counts counts = counts_of([&] { kernels::fused(out, wide, 10, 40); });
  EXPECT_EQ(counts.fma_fp32, 40 * 11);
  EXPECT_EQ(counts.fma_fp64, 40 * 20);
  EXPECT_EQ(download(out, 40)[39], 2 - 1.0f / 1024);
}

TEST_F(EmulatorTest, ChainsOfMultiplyAddsAreToldApart) {
  float* out = make<float>(70);
  for (const unsigned chains : {1u, 2u, 5u, 8u}) {
    counts_of([&] { kernels::chains(out, chains, 100, 70); });  // three warps
    const KernelProfile& profile = emulator.runs()[0].profile;
    EXPECT_NEAR(profile.waits.fma_chain, 100, 3) << chains;  // values may meet by chance
    EXPECT_EQ(profile.waits.fma_steps, 100 * chains) << chains;
    EXPECT_EQ(profile.counts.issues(Arithmetic::fma_fp32), 3 * 100 * chains);
  }
}

TEST_F(EmulatorTest, LanesThatEndedAreNotWaitedFor) {
  unsigned* out = upload(std::vector<unsigned>(64, 0));
  const Counts counts = counts_of([&] { kernels::return_before_barrier(out); });
  EXPECT_EQ(counts.barriers, 2);  // both warps have a lane that waits
  const std::vector<unsigned> values = download(out, 64);
  EXPECT_EQ(std::count(values.begin(), values.end(), 1u), 40);
}

}  // namespace
}  // namespace gpubench::model
