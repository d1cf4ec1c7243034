// What attention must come to, and what theory says it costs.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace attention {

// Row `query` of head `head`, in double precision and with no tile and no running maximum: all
// scores first, then the weights, then the sums. `q`, `k`, `v` say what stands at an index; `group`
// heads share one of K and V.
template <class OfQ, class OfK, class OfV>
std::vector<double> expected_row(const OfQ& q, const OfK& k, const OfV& v, std::size_t seq,
                                 std::size_t head_dim, bool causal, std::size_t head,
                                 std::size_t query, std::size_t group = 1) {
  const std::size_t begin = head * seq * head_dim, kv_begin = head / group * seq * head_dim;
  const std::size_t seen = causal ? query + 1 : seq;
  std::vector<double> row(head_dim), of_query(head_dim), weights(seen);
  for (std::size_t d = 0; d < head_dim; ++d) {
    of_query[d] = static_cast<float>(q(begin + query * head_dim + d));
  }
  double largest = -INFINITY, sum = 0;
  for (std::size_t key = 0; key < seen; ++key) {
    double score = 0;
    for (std::size_t d = 0; d < head_dim; ++d) {
      score += of_query[d] * static_cast<float>(k(kv_begin + key * head_dim + d));
    }
    weights[key] = score / std::sqrt(static_cast<double>(head_dim));
    largest = std::fmax(largest, weights[key]);
  }
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (std::size_t key = 0; key < seen; ++key) {
    const double weight = weights[key] / sum;
    for (std::size_t d = 0; d < head_dim; ++d) {
      row[d] += weight * static_cast<float>(v(kv_begin + key * head_dim + d));
    }
  }
  return row;
}

// How far an element of such a row may be off: it is rounded to bf16 once; and so is each weight,
// which moves a sum by as much of what such sums usually are.
inline double allowed_error(const std::vector<double>& row, std::size_t at) {
  double squares = 0;
  for (const double x : row) squares += x * x;
  const double usual = std::sqrt(squares / static_cast<double>(row.size()));
  return 0x1p-8 * std::fabs(row[at]) + 0x1p-6 * usual;
}

// --- what theory says it costs ---

inline constexpr std::size_t element_bytes = 2;  // bf16

struct Shape {
  double heads, seq, head_dim;  // heads of the whole batch
  bool causal;
  double group = 1;  // heads that share one of K and V

  // Both multiplications; of causal attention the half that counts.
  double flops() const { return 4 * heads * seq * seq * head_dim / (causal ? 2 : 1); }
  // Q, K, V and the result.
  double operand_bytes() const { return (2 + 2 / group) * heads * seq * head_dim * element_bytes; }
  // The matrix of scores that the standard way has in memory.
  double score_bytes() const { return heads * seq * seq * element_bytes; }
};

}  // namespace attention
