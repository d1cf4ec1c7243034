#include "tests/kernels/atomics_runs.hpp"

namespace gpubench {
namespace {

class AtomicsCounts : public AtomicsRuns {};

TEST_F(AtomicsCounts, OwnBinsKeepKeysOutOfGlobalMemory) {
  using model::Access;
  using model::Space;
  constexpr unsigned n = 3 * atomics::threads * 8;
  count<false>(n, 16, 3);
  EXPECT_EQ(counts().at(Space::global, Access::atomic).lanes, n);
  count<true>(n, 16, 3);
  EXPECT_EQ(counts().at(Space::shared, Access::atomic).lanes, n);
  EXPECT_EQ(counts().at(Space::global, Access::atomic).lanes, 3 * 16);
}

}  // namespace
}  // namespace gpubench
