#include "tests/kernels/attention_decode_runs.hpp"

namespace gpubench {
namespace {

using model::Access;
using model::Space;

class AttentionDecodeCounts : public AttentionDecodeRuns {};

// However many queries share them; and a block its queries.
TEST_F(AttentionDecodeCounts, KeysAndValuesAreReadOnceInWholeLines) {
  constexpr double row_bytes = 256, context = 128;
  for (const unsigned kv_heads : {32u, 8u, 1u}) {
    run_decode({1, 128, kv_heads, 0, 1});
    const auto& loads = counts().at(Space::global, Access::load);
    const double queries = 32;
    EXPECT_EQ(loads.sectors * 32, (2 * context * kv_heads + queries) * row_bytes) << kv_heads;
  }
}

// A tile of 16 keys asks once where its page is.
TEST_F(AttentionDecodeCounts, APageIsLookedUpOnceForEachTile) {
  const auto requests = [&](unsigned page) {
    run_decode({1, 256, 8, page, 1});
    return counts().at(Space::global, Access::load).requests;
  };
  const double tiles = 8 * 256 / 16;
  EXPECT_EQ(requests(16), requests(0) + tiles);
  EXPECT_EQ(requests(64), requests(16));
}

TEST_F(AttentionDecodeCounts, TilesAreReadWithoutBankConflicts) {
  for (const unsigned kv_heads : {8u, 1u}) {
    run_decode({1, 96, kv_heads, 0, 1});
    for (const Access access : {Access::load, Access::store}) {
      const model::AccessCounts& counted = counts().at(Space::shared, access);
      EXPECT_GT(counted.requests, 0);
      EXPECT_DOUBLE_EQ(counted.wavefronts, counted.ideal_wavefronts);
    }
  }
}

// Fragments have 16 rows: one query takes as long as sixteen.
TEST_F(AttentionDecodeCounts, UpToSixteenQueriesAreOneFragment) {
  const auto multiplications = [&](unsigned kv_heads) {
    run_decode({1, 64, kv_heads, 0, 1});
    return counts().at(model::WarpOperation::matrices) / kv_heads;
  };
  const double of_one = multiplications(32);
  EXPECT_EQ(multiplications(8), of_one);
  EXPECT_EQ(multiplications(2), of_one);
  EXPECT_EQ(multiplications(1), 2 * of_one);
}

}  // namespace
}  // namespace gpubench
