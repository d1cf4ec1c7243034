#include "tests/kernels/async_copy_runs.hpp"

namespace gpubench {
namespace {

using namespace async_copy;

class AsyncCopyCounts : public AsyncCopyRuns {
 protected:
  double waits() const {
    const auto& waits = emulator.runs().back().profile.waits;
    return (waits.load_groups + waits.copy_waits) / blocks;
  }
  static constexpr double tiles(unsigned vectors) { return block_bytes / (vectors * row_bytes); }
};

TEST_F(AsyncCopyCounts, ATileIsWaitedForOnceByTheShareThatThoseUnderWayLeave) {
  sums_by(plain<2>, 2, 1);
  EXPECT_EQ(emulator.runs().back().profile.waits.load_groups / blocks, tiles(2));
  sums_by(cp_async<2>, 2, 2, 2u);
  EXPECT_NEAR(waits(), tiles(2), 1e-9);
  sums_by(cp_async<4>, 2, 4, 2u);
  EXPECT_NEAR(waits(), tiles(2) / 3, 1e-9);
  // The last copies too, behind which there are fewer: they were started as early as the others.
  for (const unsigned stages : {2u, 4u, 8u}) {
    sums_by(bulk, 2, stages, 2u, stages);
    EXPECT_NEAR(waits(), tiles(2) / (stages - 1), 1e-9) << stages;
  }
}

TEST_F(AsyncCopyCounts, ABulkCopyIsTheEnginesTraffic) {
  sums_by(bulk, 2, 4, 2u, 4u);
  const double sectors = blocks * block_bytes / 32.0;
  EXPECT_EQ(counts().bulk_loads.sectors, sectors);
  EXPECT_EQ(counts().at(model::Space::global, model::Access::load).requests, 0);
  EXPECT_EQ(counts().at(model::Space::shared, model::Access::store).wavefronts, sectors / 4);
  EXPECT_EQ(counts().bulk_stores, counts().at(model::Space::shared, model::Access::store).requests);
}

}  // namespace
}  // namespace gpubench
