// The gradients of attention at ragged shapes, every row of them, against double precision; and
// what they are held to against differences of the forward pass.
#include <cmath>
#include <vector>

#include "kernels/attention/backward.cuh"
#include "kernels/attention/backward_expected.cuh"
#include "tests/kernels/attention_runs.hpp"

namespace gpubench {
namespace {

using attention::element;
using attention::backward::Expected;
using Row = std::vector<double>;

struct Values {
  std::vector<float> of;
  float operator()(std::size_t i) const { return of[i]; }
};
using Operands = attention::backward::Operands<Values, Values, Values, Values, Values, Values>;

template <class Of>
Values once(const Of& of, std::size_t n) {
  Values values;
  for (std::size_t i = 0; i < n; ++i) values.of.push_back(static_cast<float>(of(i)));
  return values;
}

class AttentionBackward : public AttentionRuns {
 protected:
  static constexpr Generator<element> of_d_out{4};

  // With what a forward pass leaves of such operands.
  static Operands operands(std::size_t heads, std::size_t seq, std::size_t head_dim, bool causal) {
    const std::size_t n = heads * seq * head_dim;
    Operands all{once(of_q, n), once(of_k, n), once(of_v, n), {}, once(of_d_out, n), {}};
    for (std::size_t row = 0; row < heads * seq; ++row) {
      const std::size_t head = row / seq, query = row % seq;
      for (const double x :
           attention::expected_row(all.q, all.k, all.v, seq, head_dim, causal, head, query)) {
        all.out.of.push_back(static_cast<float>(element(static_cast<float>(x))));
      }
      all.log_sums.of.push_back(log_sum(all, head, query, seq, head_dim, causal));
    }
    return all;
  }

  template <unsigned head_dim>
  void expect_gradients(unsigned heads, unsigned seq, bool causal) {
    using namespace attention::backward;
    SCOPED_TRACE(testing::Message()
                 << "head_dim " << head_dim << ", seq " << seq << ", causal " << causal);
    const Operands all = operands(heads, seq, head_dim, causal);
    const std::size_t n = std::size_t{heads} * seq * head_dim, rows = std::size_t{heads} * seq;
    const auto q = filled(n, of_q), k = filled(n, of_k), v = filled(n, of_v),
               d_out = filled(n, of_d_out);
    std::vector<element> results;
    for (const float x : all.out.of) results.push_back(element(x));
    const DeviceBuffer<element> out{std::span<const element>(results)};
    const DeviceBuffer<float> log_sums{std::span<const float>(all.log_sums.of)};
    const auto products = output<float>(rows);
    const auto d_q = output<element>(n), d_k = output<element>(n), d_v = output<element>(n);
    const dim3 grid(blocks_of(seq), heads);
    const QuerySums sums{log_sums.data(), products.data()};
    const float scale = attention::scale_of(head_dim),
                root = 1 / std::sqrt(static_cast<float>(head_dim));
    launch(row_products<head_dim>, grid, attention::threads, 0, nullptr, out.data(), d_out.data(),
           products.data(), seq);
    launch(keys_and_values<head_dim>, grid, attention::threads, shared_bytes<head_dim>(), nullptr,
           q.data(), k.data(), v.data(), d_out.data(), sums, d_k.data(), d_v.data(), seq, scale,
           root, causal);
    launch(queries<head_dim>, grid, attention::threads, shared_bytes<head_dim>(), nullptr, q.data(),
           k.data(), v.data(), d_out.data(), sums, d_q.data(), seq, scale, root, causal);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    const Expected<Operands> expected(all, seq, head_dim, causal);
    const auto got_q = d_q.download(), got_k = d_k.download(), got_v = d_v.download();
    for (std::size_t row = 0; row < rows; ++row) {
      expect_row(got_q, expected.d_q(row / seq, row % seq), row, "dQ");
      expect_row(got_k, expected.d_k(row / seq, row % seq), row, "dK");
      expect_row(got_v, expected.d_v(row / seq, row % seq), row, "dV");
    }
  }

 private:
  static float log_sum(const Operands& all, std::size_t head, std::size_t query, std::size_t seq,
                       std::size_t head_dim, bool causal) {
    double sum = 0;
    for (std::size_t key = 0; key < (causal ? query + 1 : seq); ++key) {
      double score = 0;
      for (std::size_t d = 0; d < head_dim; ++d) {
        score += double{all.q((head * seq + query) * head_dim + d)} *
                 all.k((head * seq + key) * head_dim + d);
      }
      sum += std::exp(score / std::sqrt(static_cast<double>(head_dim)));
    }
    return static_cast<float>(std::log2(sum));
  }
  // Weights and changes are rounded to bf16, and some of the changes are differences: an element
  // may be off by a hundredth of the largest of its row, or where all cancel, of a usual one.
  static void expect_row(const std::vector<element>& got, const Row& want, std::size_t row,
                         const char* what) {
    double largest = 0;
    for (const double x : want) largest = std::fmax(largest, std::fabs(x));
    for (std::size_t d = 0; d < want.size(); ++d) {
      ASSERT_NEAR(static_cast<float>(got[row * want.size() + d]), want[d], 0.01 * largest + 0.004)
          << what << ", row " << row << ", element " << d;
    }
  }
};

TEST_F(AttentionBackward, GradientsAtRaggedShapes) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  for (const bool causal : {false, true}) {
    for (const unsigned seq : {1u, 31u, 64u, 65u, 130u}) expect_gradients<64>(2, seq, causal);
    expect_gradients<128>(1, 97, causal);
  }
}

// The sum of d_out times the results, with one element of an operand moved up and down.
TEST_F(AttentionBackward, ExpectedGradientsAreThoseOfTheForwardPass) {
  constexpr std::size_t seq = 6, head_dim = 8;
  constexpr float step = 0x1p-6;
  for (const bool causal : {false, true}) {
    const Operands all = operands(1, seq, head_dim, causal);
    const auto loss = [&](const Operands& of) {
      double sum = 0;
      for (std::size_t query = 0; query < seq; ++query) {
        const Row row = attention::expected_row(of.q, of.k, of.v, seq, head_dim, causal, 0, query);
        for (std::size_t d = 0; d < head_dim; ++d) sum += row[d] * of.d_out(query * head_dim + d);
      }
      return sum;
    };
    const auto slope = [&](Values Operands::*operand, std::size_t at) {
      Operands up = all, down = all;
      (up.*operand).of[at] += step;
      (down.*operand).of[at] -= step;
      return (loss(up) - loss(down)) / (2 * step);
    };
    const Expected<Operands> expected(all, seq, head_dim, causal);
    for (const std::size_t at : {std::size_t{3}, 2 * head_dim + 5, 5 * head_dim}) {
      const std::size_t row = at / head_dim, d = at % head_dim;
      // Results are rounded to bf16 in D, of which a gradient is the small difference.
      EXPECT_NEAR(expected.d_q(0, row)[d], slope(&Operands::q, at), 0.02);
      EXPECT_NEAR(expected.d_k(0, row)[d], slope(&Operands::k, at), 0.02);
      EXPECT_NEAR(expected.d_v(0, row)[d], slope(&Operands::v, at), 1e-4);
    }
  }
}

}  // namespace
}  // namespace gpubench
