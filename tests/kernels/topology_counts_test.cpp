#include "tests/kernels/topology_runs.hpp"

namespace gpubench {
namespace {

class TopologyCounts : public TopologyRuns {};

TEST_F(TopologyCounts, FetchingTakesTheLinksTime) {
  fetch_from_a_peer();
  EXPECT_FALSE(IsSkipped());
  EXPECT_EQ(emulator.runs().back().prediction.bound, "link");
}

}  // namespace
}  // namespace gpubench
