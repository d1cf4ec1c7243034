#include "tests/kernels/divergence_runs.hpp"

namespace gpubench {
namespace {

using namespace divergence;

class DivergenceKernels : public DivergenceRuns {};

TEST_F(DivergenceKernels, PathsOfAnyNumberOfThreads) {
  for (const unsigned n : ragged_sizes) {
    branches_of(n, 3, false);
    branches_of(n, 32, true);
    trips_of(n, Among::lanes, 4);
  }
  for (const Among among : {Among::warps, Among::blocks}) trips_of(8 * threads, among, 8);
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
