#include "tests/kernels/tile_alignment_runs.hpp"

namespace gpubench {
namespace {

using namespace tile_alignment;

class TileAlignmentCounts : public TileAlignmentRuns {};

TEST_F(TileAlignmentCounts, LanesWithNothingToLoadAreSeen) {
  const auto lanes_of = [&](unsigned n, unsigned k) {
    expect_predicated<1>(64, n, k);
    const model::AccessCounts& loads = counts().at(model::Space::global, model::Access::load);
    return loads.lanes / loads.requests;
  };
  EXPECT_DOUBLE_EQ(lanes_of(64, 32), 32);  // a warp is one row of 32 elements
  EXPECT_DOUBLE_EQ(lanes_of(64, 16), 16);
  EXPECT_DOUBLE_EQ(lanes_of(64, 33), 16.5);  // two steps: 32 lanes, then one
}

TEST_F(TileAlignmentCounts, FragmentsComeWithoutBankConflicts) {
  expect_predicated<8>(128, 128, 64);
  const model::AccessCounts& loads = counts().at(model::Space::shared, model::Access::load);
  EXPECT_DOUBLE_EQ(loads.wavefronts, loads.requests);
}

}  // namespace
}  // namespace gpubench
