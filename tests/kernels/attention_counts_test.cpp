#include "tests/kernels/attention_runs.hpp"

namespace gpubench {
namespace {

class AttentionCounts : public AttentionRuns {};

TEST_F(AttentionCounts, TilesAreReadWithoutBankConflicts) {
  run_tiled<128>(1, 64, false);
  for (const model::Access access : {model::Access::load, model::Access::store}) {
    const model::AccessCounts& counted = counts().at(model::Space::shared, access);
    EXPECT_GT(counted.requests, 0);
    EXPECT_DOUBLE_EQ(counted.wavefronts, counted.ideal_wavefronts);
  }
}

TEST_F(AttentionCounts, CausalBlocksSkipWhatTheyDoNotSee) {
  const auto multiplications = [&](bool causal) {
    run_tiled<64>(1, 512, causal);
    return counts().at(model::WarpOperation::matrices);
  };
  // Of 4 x 8 tiles of 128 queries by 64 keys, 8 on the diagonal, of whose 32 x 64 parts, four a
  // tile, 2 or 4 are needed, and 12 below it.
  const double share = (12 + 4 + 4 * 0.5) / 32;
  EXPECT_DOUBLE_EQ(multiplications(true) / multiplications(false), share);
  EXPECT_DOUBLE_EQ(attention::computed_share(512, true), share);  // what the law reckons with
}

}  // namespace
}  // namespace gpubench
