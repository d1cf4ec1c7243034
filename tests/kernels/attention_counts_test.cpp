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
  // 4 x 8 tiles of 128 queries by 64 keys: 8 on the diagonal, of whose 32 x 64 parts, four a
  // tile, 2 or 4 are needed, and 12 below it.
  const double share = (12 + 4 + 4 * 0.5) / 32;
  EXPECT_DOUBLE_EQ(multiplications(true) / multiplications(false), share);
  EXPECT_DOUBLE_EQ(attention::computed_share(512, true), share);  // what the law reckons with
}

// Q once; and for each of three groups of 128 queries, the tiles of K and V that it sees.
TEST_F(AttentionCounts, TheCopyEngineBringsTilesThatWgmmaMultiply) {
  if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  constexpr double head_dim = 128, tile_bytes = 128 * head_dim * 2, groups = 3;
  for (const bool causal : {false, true}) {
    run_wgmma<128>(1, 384, causal);
    const double tiles = causal ? 1 + 2 + 3 : groups * groups;
    EXPECT_DOUBLE_EQ(tiles / (groups * groups),
                     attention::wgmma_parts::computed_share(384, causal));
    EXPECT_DOUBLE_EQ(counts().bulk_loads.bytes, (groups + 2 * tiles) * tile_bytes);
    EXPECT_EQ(counts().at(model::Space::global, model::Access::load).requests, 0);
    const auto bf16 = static_cast<std::size_t>(model::Tensor::bf16);
    EXPECT_DOUBLE_EQ(counts().warpgroup_flops[bf16], tiles * 4 * 128 * 128 * head_dim);
    // A warpgroup takes its softmax when its products are done, not before.
    EXPECT_DOUBLE_EQ(counts().awaited_flops[bf16], counts().warpgroup_flops[bf16]);
    const double blocks = causal ? 2 : groups;
    EXPECT_DOUBLE_EQ(counts().awaiting_warps, 8 * blocks);
    for (const model::Access access : {model::Access::load, model::Access::store}) {
      const model::AccessCounts& shared = counts().at(model::Space::shared, access);
      EXPECT_DOUBLE_EQ(shared.wavefronts, shared.ideal_wavefronts);
    }
  }
}

}  // namespace
}  // namespace gpubench
