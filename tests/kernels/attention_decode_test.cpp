// Decoding at ragged contexts, every row of it, against plain sums in double precision; and what it
// is made of.
#include <set>
#include <vector>

#include "tests/kernels/attention_decode_runs.hpp"

namespace gpubench {
namespace {

using namespace attention::decoding;
using attention::allowed_error, attention::element;

class AttentionDecode : public AttentionDecodeRuns {
 protected:
  void expect_rows(const DecodeShape& of) {
    SCOPED_TRACE(testing::Message()
                 << "context " << of.context << ", " << of.kv_heads << " key-value heads, pages of "
                 << of.page << ", splits " << of.splits);
    const std::vector<element> got = run_decode(of).download();
    for (unsigned row = 0; row < of.batch * heads; ++row) {
      const auto expected = [&](const auto& cache) {
        return expected_part(of_q, of_k, of_v, cache, row / heads, row % heads, 0, of.context);
      };
      const ExpectedPart want =
          of.page == 0
              ? expected(Contiguous{of.context, of.kv_heads})
              : expected(PagedBy<ShuffledPages>{of.context, of.kv_heads, of.page, {of.pages()}});
      for (unsigned d = 0; d < head_dim; ++d) {
        ASSERT_NEAR(static_cast<float>(got[row * head_dim + d]), want.results[d],
                    allowed_error(want.results, d))
            << "row " << row << ", element " << d;
      }
    }
  }

  // Splits of random results and weights, merged.
  void expect_combined(unsigned splits) {
    SCOPED_TRACE(testing::Message() << splits << " splits");
    constexpr unsigned rows = 2;
    const auto of_splits = input<float>(std::size_t{rows} * splits * head_dim),
               log_sums = input<float>(rows * splits);
    const auto out = output<element>(rows * head_dim);
    launch(combine, rows, combining_threads, 0, nullptr, of_splits.data(), log_sums.data(),
           out.data(), splits);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    const std::vector<element> got = out.download();
    for (unsigned row = 0; row < rows; ++row) {
      std::vector<ExpectedPart> parts(splits);
      for (unsigned i = 0; i < splits; ++i) {
        for (unsigned d = 0; d < head_dim; ++d) {
          parts[i].results[d] = values<float>((row * splits + i) * head_dim + d);
        }
        parts[i].log_sum = values<float>(row * splits + i);
      }
      const std::vector<double> want = expected_whole(parts);
      for (unsigned d = 0; d < head_dim; ++d) {
        ASSERT_NEAR(static_cast<float>(got[row * head_dim + d]), want[d],
                    0x1p-8 * std::fabs(want[d]) + 1e-5)
            << "row " << row << ", element " << d;
      }
    }
  }
};

// A single key; a tile that is full, or not; warps without a tile; and stages that go round.
TEST_F(AttentionDecode, ContextsOfAnyLength) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  for (const unsigned context : {1u, 15u, 16u, 17u, 145u, 211u}) {
    expect_rows({1, context, 8, 0, 1});
  }
}

// One query per key, four, and 32, which are two fragments.
TEST_F(AttentionDecode, QueryHeadsShareKeysAndValues) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  for (const unsigned kv_heads : {32u, 2u, 1u}) expect_rows({2, 67, kv_heads, 0, 1});
}

TEST_F(AttentionDecode, PagesLieAnywhere) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  for (const unsigned page : {16u, 48u, 64u}) expect_rows({3, 163, 2, page, 1});
  expect_rows({2, 130, 1, 16, 1});
}

TEST_F(AttentionDecode, SplitsAreCombined) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  expect_rows({1, 163, 8, 0, 2});
  expect_rows({1, 163, 8, 32, 7});
  expect_rows({2, 40, 1, 16, 3});  // of a tile each, which one warp of four takes
}

TEST_F(AttentionDecode, AnyNumberOfSplitsIsCombined) {
  for (const unsigned splits : {2u, 3u, 5u, 64u, 131u}) expect_combined(splits);
}

TEST(AttentionDecodePages, AreShuffledAndNoneIsLost) {
  for (const unsigned pages : {1u, 2u, 37u, 64u, 1000u}) {
    const ShuffledPages table{pages};
    std::set<unsigned> taken;
    unsigned in_place = 0;
    for (unsigned i = 0; i < pages; ++i) {
      taken.insert(table(i));
      in_place += table(i) == i ? 1 : 0;
    }
    EXPECT_EQ(taken.size(), pages);
    EXPECT_EQ(*taken.rbegin(), pages - 1);
    if (pages > 30) {
      EXPECT_LT(in_place, pages / 8);
    }
  }
}

TEST(AttentionDecodePages, EveryTokenHasARowOfItsOwn) {
  constexpr unsigned batch = 3, context = 70, kv_heads = 4, page = 16, pages = 5;
  const auto rows_of = [](const auto& cache) {
    std::set<std::size_t> rows;
    for (unsigned sequence = 0; sequence < batch; ++sequence) {
      for (unsigned head = 0; head < kv_heads; ++head) {
        for (unsigned token = 0; token < context; ++token) {
          rows.insert(cache.row_of(sequence, head, token));
        }
      }
    }
    return rows;
  };
  const auto contiguous = rows_of(Contiguous{context, kv_heads});
  EXPECT_EQ(contiguous.size(), batch * kv_heads * context);
  EXPECT_EQ(*contiguous.rbegin(), batch * kv_heads * context - 1);
  const auto paged = rows_of(PagedBy<ShuffledPages>{context, kv_heads, page, {batch * pages}});
  EXPECT_EQ(paged.size(), batch * kv_heads * context);
  EXPECT_LT(*paged.rbegin(), batch * kv_heads * pages * page);
}

// 264 blocks at once.
TEST(AttentionDecodeSplits, FillTheLastWave) {
  constexpr unsigned at_once = 264, group = 4, long_context = 65536;
  EXPECT_EQ(splits_of(long_context, group, 264, at_once), 1u);
  EXPECT_EQ(splits_of(long_context, group, 250, at_once), 1u);  // 95 % of a wave
  EXPECT_EQ(splits_of(long_context, group, 8, at_once), 30u);   // 91 %
  EXPECT_EQ(splits_of(long_context, group, 288, at_once), 5u);  // 5.45 of 6 waves
  EXPECT_EQ(splits_of(1024, group, 8, at_once), 8u);            // 128 keys each
  EXPECT_EQ(splits_of(1024, 32, 1, at_once), 4u);               // 256, which 32 queries share
  EXPECT_EQ(splits_of(100, group, 1, at_once), 1u);
}

TEST(AttentionDecodeSplits, HaveAllTiles) {
  for (const unsigned tiles : {1u, 7u, 64u, 4096u}) {
    for (const unsigned splits : {1u, 3u, 7u, 238u}) {
      EXPECT_EQ(first_tile(tiles, 0, splits), 0u);
      EXPECT_EQ(first_tile(tiles, splits, splits), tiles);
      if (splits > tiles) continue;
      for (unsigned split = 0; split < splits; ++split) {
        const unsigned of_split =
            first_tile(tiles, split + 1, splits) - first_tile(tiles, split, splits);
        EXPECT_GE(of_split, tiles / splits);
        EXPECT_LE(of_split, tiles / splits + 1);
      }
    }
  }
}

// A token of 8 key-value heads brings 2 x 8 x 128 elements of two bytes: 4 KiB.
TEST(AttentionDecodeLaw, GroupsDivideBytesAndKeepFlops) {
  const Amount multi_head{16, 1024, 32}, grouped{16, 1024, 8};
  EXPECT_EQ(grouped.bytes_per_token(), 1024.0 * 4096);
  EXPECT_EQ(multi_head.bytes_per_token(), 4 * grouped.bytes_per_token());
  EXPECT_EQ(grouped.bytes(), 16 * (1024.0 * 4096 + 2.0 * 32 * 128 * 2));
  EXPECT_EQ(multi_head.flops(), grouped.flops());
  EXPECT_EQ(grouped.flops(), 4.0 * 16 * 1024 * 32 * 128);
}

}  // namespace
}  // namespace gpubench
