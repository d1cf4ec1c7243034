// Attention at ragged shapes, every row of it, against plain sums in double precision; the standard
// way's softmax.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/gemm.hpp"
#include "tests/kernels/attention_runs.hpp"

namespace gpubench {
namespace {

using namespace attention;

class AttentionTest : public AttentionRuns {
 protected:
  static void expect_rows(const DeviceBuffer<element>& out, unsigned heads, unsigned seq,
                          unsigned head_dim, bool causal, double besides = 0, unsigned group = 1) {
    const std::vector<element> got = out.download();
    // Every row asks for all keys and values of its head.
    const auto once = [&](const auto& of) {
      std::vector<float> values(got.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(of(i));
      return [values = std::move(values)](std::size_t i) { return values[i]; };
    };
    const auto q = once(of_q);
    const auto k = once(of_k);
    const auto v = once(of_v);
    for (std::size_t row = 0; row < std::size_t{heads} * seq; ++row) {
      const auto want = expected_row(q, k, v, seq, head_dim, causal, row / seq, row % seq, group);
      for (std::size_t d = 0; d < head_dim; ++d) {
        ASSERT_NEAR(static_cast<float>(got[row * head_dim + d]), want[d],
                    besides + allowed_error(want, d))
            << "seq " << seq << ", causal " << causal << ", row " << row << ", element " << d;
      }
    }
  }

  template <unsigned head_dim>
  void expect_tiled(unsigned heads, unsigned seq, bool causal) {
    expect_rows(run_tiled<head_dim>(heads, seq, causal), heads, seq, head_dim, causal);
  }

  template <unsigned head_dim>
  void expect_wgmma(unsigned heads, unsigned seq, bool causal) {
    expect_rows(run_wgmma<head_dim>(heads, seq, causal), heads, seq, head_dim, causal);
  }

  template <unsigned head_dim>
  void expect_tcgen05(unsigned heads, unsigned seq, bool causal) {
    expect_rows(run_tcgen05<head_dim>(heads, seq, causal), heads, seq, head_dim, causal);
  }

  // By the library's multiplications and a softmax between them.
  void expect_standard(bool causal) {
    constexpr unsigned heads = 2, seq = 72, head_dim = 64;
    constexpr std::size_t n = std::size_t{heads} * seq * head_dim;
    const auto q = filled(n, of_q), k = filled(n, of_k), v = filled(n, of_v);
    const DeviceBuffer<element> scores(std::size_t{heads} * seq * seq);
    const auto out = output<element>(n);
    const std::size_t a_head = std::size_t{seq} * head_dim, matrix = std::size_t{seq} * seq;
    const Gemm first(GemmShape::dense(GemmType::bf16, seq, seq, head_dim),
                     {heads, a_head, a_head, matrix});
    const Gemm last(GemmShape::textbook(GemmType::bf16, seq, head_dim, seq),
                    {heads, matrix, a_head, a_head});
    first.queue(nullptr, q.data(), k.data(), scores.data());
    launch(softmax<4>, heads * seq / 8, dim3(32, 8), 0, nullptr, scores.data(), seq, heads * seq,
           scale_of(head_dim), causal);
    last.queue(nullptr, scores.data(), v.data(), out.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    // Scores are rounded too, here up to some sixty, before they are exponents.
    expect_rows(out, heads, seq, head_dim, causal, 0.03);
  }

  // Every weight of five rows of scores, a row by `lanes` threads.
  template <unsigned held>
  void expect_weights(unsigned seq, unsigned lanes, bool causal) {
    constexpr unsigned rows = 5;
    const auto scores = filled(std::size_t{rows} * seq, of_q);
    launch(softmax<held>, rows, lanes, 0, nullptr, scores.data(), seq, rows, 1.0f, causal);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    const std::vector<element> got = scores.download();
    for (unsigned row = 0; row < rows; ++row) {
      std::vector<double> want(seq);
      double sum = 0;
      for (unsigned i = 0; i < (causal ? row + 1 : seq); ++i) {
        sum += want[i] = std::exp2(static_cast<float>(of_q(row * seq + i)));
      }
      for (unsigned i = 0; i < seq; ++i) {
        const double share = want[i] / sum;
        ASSERT_NEAR(static_cast<float>(got[row * seq + i]), share, 0x1p-8 * share)
            << "seq " << seq << ", row " << row << ", weight " << i;
      }
    }
  }
};

TEST_F(AttentionTest, TiledAtRaggedShapes) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  for (const bool causal : {false, true}) {
    for (const unsigned seq : {1u, 31u, 64u, 65u, 129u}) expect_tiled<64>(2, seq, causal);
    expect_tiled<128>(1, 161, causal);
  }
  expect_tiled<64>(1, 300, true);  // three groups of queries: the one in the middle has no partner
}

// One tile of keys; as many as stages hold; and so many that stages go round, in causal blocks from
// their first group of queries to their second. In three groups, the one in the middle is alone.
TEST_F(AttentionTest, ByWgmmaAndTma) {
  if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  for (const bool causal : {false, true}) {
    for (const unsigned seq : {128u, 256u, 640u}) expect_wgmma<64>(2, seq, causal);
    for (const unsigned seq : {128u, 384u}) expect_wgmma<128>(2, seq, causal);
  }
}

// A block with one tile of queries; with two; and with so many of keys that stages go round, in
// causal blocks from their first group of queries to their second. Of three tiles the last is alone
// in its block, of five the one in the middle.
TEST_F(AttentionTest, ByTcgen05With64Elements) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  for (const bool causal : {false, true}) {
    for (const unsigned seq : {128u, 256u, 640u}) expect_tcgen05<64>(1, seq, causal);
  }
}

TEST_F(AttentionTest, ByTcgen05With128Elements) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  for (const bool causal : {false, true}) {
    for (const unsigned seq : {128u, 384u}) expect_tcgen05<128>(1, seq, causal);
  }
}

// Two, four or all of them.
TEST_F(AttentionTest, HeadsShareKeysAndValues) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  for (const unsigned group : {2u, 4u}) {
    expect_rows(run_tiled<64>(4, 65, true, group), 4, 65, 64, true, 0, group);
  }
  expect_rows(run_tiled<128>(6, 33, false, 3), 6, 33, 128, false, 0, 3);
}

TEST_F(AttentionTest, HeadsShareKeysAndValuesByWgmma) {
  if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  expect_rows(run_wgmma<64>(4, 128, true, 2), 4, 128, 64, true, 0, 2);
  expect_rows(run_wgmma<128>(2, 256, false, 2), 2, 256, 128, false, 0, 2);
}

TEST_F(AttentionTest, HeadsShareKeysAndValuesByTcgen05) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  expect_rows(run_tcgen05<64>(4, 128, true, 2), 4, 128, 64, true, 0, 2);
  expect_rows(run_tcgen05<128>(2, 256, false, 2), 2, 256, 128, false, 0, 2);
}

TEST_F(AttentionTest, TheStandardWayIsTheSame) {
  try {
    for (const bool causal : {false, true}) expect_standard(causal);
  } catch (const GemmUnavailable& why) {
    GTEST_SKIP() << why.what();
  }
}

TEST_F(AttentionTest, SoftmaxSeesNoFurther) { expect_weights<4>(2056, 128, true); }

TEST_F(AttentionTest, SoftmaxOfRowsThatTakeSeveralPacksAThread) {
  expect_weights<4>(2056, 128, false);  // three, the third of one thread
  expect_weights<8>(8200, 256, false);  // five
}

}  // namespace
}  // namespace gpubench
