#include "tests/kernels/divergence_runs.hpp"

namespace gpubench {
namespace {

using namespace divergence;

class DivergenceCounts : public DivergenceRuns {
 protected:
  double issued() const { return counts().issues(model::Arithmetic::fma_fp32); }
};

TEST_F(DivergenceCounts, AWarpTakesEveryPathThatOneOfItsLanesTakes) {
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

TEST_F(DivergenceCounts, ALoopLastsAsLongAsItsBusiestLane) {
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

}  // namespace
}  // namespace gpubench
