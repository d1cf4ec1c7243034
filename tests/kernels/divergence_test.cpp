#include "kernels/divergence.cuh"

#include <algorithm>

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace divergence;

class DivergenceKernels : public KernelTest {
 protected:
  void branches_of(std::size_t n, unsigned ways, bool sorted) {
    SCOPED_TRACE(testing::Message() << n << " threads, " << ways << " ways, sorted " << sorted);
    const auto out = output<float>(n);
    launch(branches, static_cast<unsigned>((n + threads - 1) / threads), threads, 0, nullptr,
           out.data(), n, ways, sorted);
    expect_elements(out, ExpectedBranches{ways, sorted});
  }
  void trips_of(std::size_t n, Among among, unsigned ratio) {
    SCOPED_TRACE(testing::Message()
                 << n << " threads, one in " << ratio << " of " << static_cast<unsigned>(among));
    const auto out = output<float>(n);
    launch(trips, static_cast<unsigned>((n + threads - 1) / threads), threads, 0, nullptr,
           out.data(), n, among, ratio);
    expect_elements(out, ExpectedTrips{n, among, ratio});
  }
  double issued() const { return counts().issues(model::Arithmetic::fma_fp32); }
};

TEST_F(DivergenceKernels, PathsOfAnyNumberOfThreads) {
  for (const unsigned n : ragged_sizes) {
    branches_of(n, 3, false);
    branches_of(n, 32, true);
    trips_of(n, Among::lanes, 4);
  }
}

TEST_F(DivergenceKernels, AWarpTakesEveryPathThatOneOfItsLanesTakes) {
  for (const unsigned ways : {1u, 2u, 5u, 32u}) {
    branches_of(threads, ways, false);
    EXPECT_EQ(issued(), ways * steps * threads / warp) << ways;
    EXPECT_EQ(counts().fma_fp32, steps * threads) << ways;
    branches_of(threads, ways, true);
    EXPECT_EQ(issued(), steps * threads / warp) << ways;
  }
  // Four lanes of the last warp: the paths that they take, and no more.
  branches_of(warp + 4, 32, false);
  EXPECT_EQ(issued(), (32 + 4) * steps);
}

TEST_F(DivergenceKernels, ALoopLastsAsLongAsItsBusiestLane) {
  const std::size_t n = 8 * threads;
  for (const unsigned ratio : {1u, 2u, 8u}) {
    for (const Among among : {Among::lanes, Among::warps, Among::blocks}) {
      trips_of(n, among, ratio);
      EXPECT_EQ(counts().fma_fp32, steps * n);
      EXPECT_EQ(issued(), steps * n / warp * (among == Among::lanes ? ratio : 1));
      // A block waits for its busiest warp.
      EXPECT_EQ(emulator.runs().back().profile.waits.fma_steps,
                8 * steps * (among == Among::blocks ? 1 : ratio));
    }
  }
}

TEST_F(DivergenceKernels, NoSchedulerHasAllBusyWarps) {
  for (unsigned block = 0; block < 8; ++block) {
    unsigned busy = 0;
    for (unsigned w = 0; w < threads / warp; ++w) {
      const std::size_t i = block * threads + w * warp;
      if (rounds_of(i, 8 * threads, Among::warps, 8) == 0) continue;
      ++busy;
      EXPECT_EQ(w, (8 - block) % 8);
    }
    EXPECT_EQ(busy, 1u);
  }
}

}  // namespace
}  // namespace gpubench
