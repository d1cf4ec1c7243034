#include <cmath>
#include <map>
#include <set>

#include "tests/kernels/embedding_runs.hpp"

namespace gpubench {
namespace {

using namespace embedding;

class Embedding : public EmbeddingRuns {};

TEST_F(Embedding, BagsOfAnyNumberAndWidth) {
  for (const unsigned bags : {1u, 31u, 33u, 127u}) {
    for (const unsigned vectors : {1u, 2u, 4u, 6u, 16u, 33u, 256u}) {
      bags_of(Uniform{61}, bags, vectors);
      bags_of(Zipf{61}, bags, vectors);
    }
  }
}

TEST(EmbeddingLaw, PiecesAreFetchedWhole) {
  static_assert(fetched_bytes(64, 64) == 64);
  static_assert(fetched_bytes(32, 64) == 64);
  static_assert(fetched_bytes(32, 32) == 32);
  static_assert(fetched_bytes(96, 32) == 96);
  static_assert(fetched_bytes(96, 64) == 128);   // one and a half pieces: always two
  static_assert(fetched_bytes(160, 64) == 192);  // two and a half: three
  static_assert(fetched_bytes(80, 64) == 128);   // 2 pieces each, wherever it begins: 0, 16, 32, 48
  static_assert(fetched_bytes(4096, 128) == 4096);
}

TEST(EmbeddingIndices, AreAsLikelyAsTheySay) {
  constexpr unsigned n = 1 << 18, rows = 1009;
  std::map<unsigned, unsigned> uniform, zipf;
  for (unsigned i = 0; i < n; ++i) {
    ++uniform[Uniform{rows}(i)];
    ++zipf[Zipf{rows}(i)];
  }
  EXPECT_EQ(uniform.size(), rows);
  for (const auto& [row, times] : uniform) EXPECT_NEAR(times, n / rows, 100) << row;
  for (const std::uint64_t rank : {0, 1, 2, 9, 99}) {
    const auto row = static_cast<unsigned>(rank * 2654435761u % rows);
    const double likely = std::log1p(1 / (rank + 1.0)) / std::log(rows + 1.0);
    EXPECT_NEAR(zipf[row], n * likely, 5 * std::sqrt(n * likely)) << rank;
  }
}

TEST(EmbeddingLaw, CountsDistinctRows) {
  const auto expect = [](const auto& which, unsigned draws) {
    std::set<unsigned> met;
    for (unsigned i = 0; i < draws; ++i) met.insert(which(i));
    const double counted = static_cast<double>(met.size());
    EXPECT_NEAR(distinct_rows(which, draws), counted, 0.03 * counted) << which.rows << ' ' << draws;
  };
  for (const unsigned draws : {1000u, 30000u}) {
    expect(Uniform{5003}, draws);
    expect(Zipf{5003}, draws);
    expect(Zipf{1 << 20}, draws);
  }
}

TEST(EmbeddingIndices, PopularRowsAreDifferentRows) {
  for (const std::uint64_t rows : {std::uint64_t{16} << 14, std::uint64_t{8} << 24}) {
    std::set<std::uint64_t> places;
    for (std::uint64_t rank = 0; rank < 5000; ++rank) places.insert(rank * 2654435761u % rows);
    EXPECT_EQ(places.size(), 5000u);
  }
}

}  // namespace
}  // namespace gpubench
