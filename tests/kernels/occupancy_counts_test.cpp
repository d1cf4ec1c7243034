#include "tests/kernels/occupancy_runs.hpp"

namespace gpubench {
namespace {

using namespace occupancy;

class OccupancyCounts : public OccupancyRuns {};

TEST_F(OccupancyCounts, EveryMultiplyAddWaitsForTheOneBefore) {
  chains_of(fma<4>, 64, 64, {4, fma_steps});
  const auto& waits = emulator.runs().back().profile.waits;
  EXPECT_EQ(waits.fma_steps, fma_steps);
  EXPECT_NEAR(waits.fma_chain, fma_steps / 4, 4);  // values may meet by chance
}

}  // namespace
}  // namespace gpubench
