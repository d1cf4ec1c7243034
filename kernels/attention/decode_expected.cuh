// What decoding must come to: plain sums in double precision, over all keys or some of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/attention/cache.cuh"

namespace attention::decoding {

struct ExpectedPart {
  std::vector<double> results = std::vector<double>(head_dim);
  double log_sum = -INFINITY;  // binary, of the sum of weights
};

// The part of one query head over tokens `begin` to `end`. `q`, `k`, `v` say what stands at an
// index; `cache` says where a token is.
template <class OfQ, class OfK, class OfV, class Cache>
ExpectedPart expected_part(const OfQ& q, const OfK& k, const OfV& v, const Cache& cache,
                           unsigned sequence, unsigned head, unsigned begin, unsigned end) {
  constexpr double log2_e = 1.4426950408889634;
  const unsigned kv_head = head / (heads / cache.kv_heads);
  std::vector<double> query(head_dim), weights(end - begin);
  for (unsigned d = 0; d < head_dim; ++d) {
    query[d] = static_cast<float>(q((std::size_t{sequence} * heads + head) * head_dim + d));
  }
  double largest = -INFINITY, sum = 0;
  for (unsigned token = begin; token < end; ++token) {
    const std::size_t at = cache.row_of(sequence, kv_head, token) * head_dim;
    double score = 0;
    for (unsigned d = 0; d < head_dim; ++d) score += query[d] * static_cast<float>(k(at + d));
    weights[token - begin] = score / std::sqrt(static_cast<double>(head_dim));
    largest = std::fmax(largest, weights[token - begin]);
  }
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  ExpectedPart part;
  for (unsigned token = begin; token < end; ++token) {
    const std::size_t at = cache.row_of(sequence, kv_head, token) * head_dim;
    const double weight = weights[token - begin] / sum;
    for (unsigned d = 0; d < head_dim; ++d) {
      part.results[d] += weight * static_cast<float>(v(at + d));
    }
  }
  part.log_sum = largest * log2_e + std::log2(sum);
  return part;
}

// All of a row's parts together.
inline std::vector<double> expected_whole(const std::vector<ExpectedPart>& parts) {
  std::vector<double> row(head_dim);
  double largest = -INFINITY, sum = 0;
  for (const ExpectedPart& part : parts) largest = std::fmax(largest, part.log_sum);
  for (const ExpectedPart& part : parts) sum += std::exp2(part.log_sum - largest);
  for (const ExpectedPart& part : parts) {
    const double share = std::exp2(part.log_sum - largest) / sum;
    for (unsigned d = 0; d < head_dim; ++d) row[d] += share * part.results[d];
  }
  return row;
}

}  // namespace attention::decoding
