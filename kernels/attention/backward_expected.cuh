// What the gradients of attention must come to, row by row and in double precision.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace attention::backward {

// What stands at an index of each operand, and the binary logarithm of the sum of a query's
// weights.
template <class Q, class K, class V, class Out, class DOut, class LogSums>
struct Operands {
  Q q;
  K k;
  V v;
  Out out;
  DOut d_out;
  LogSums log_sums;
};

template <class Of>
class Expected {
 public:
  Expected(const Of& of, std::size_t seq, std::size_t head_dim, bool causal)
      : of_(of), seq_(seq), head_dim_(head_dim), causal_(causal) {}

  std::vector<double> d_q(std::size_t head, std::size_t query) const {
    std::vector<double> row(head_dim_);
    const double product = dot(of_.out, head, query, of_.d_out, query);
    for (std::size_t key = 0; key < seq_; ++key) {
      add(row, change(head, query, key, product) * root(), of_.k, head, key);
    }
    return row;
  }
  std::vector<double> d_k(std::size_t head, std::size_t key) const {
    std::vector<double> row(head_dim_);
    for (std::size_t query = 0; query < seq_; ++query) {
      const double product = dot(of_.out, head, query, of_.d_out, query);
      add(row, change(head, query, key, product) * root(), of_.q, head, query);
    }
    return row;
  }
  std::vector<double> d_v(std::size_t head, std::size_t key) const {
    std::vector<double> row(head_dim_);
    for (std::size_t query = 0; query < seq_; ++query) {
      add(row, weight(head, query, key), of_.d_out, head, query);
    }
    return row;
  }

 private:
  double root() const { return 1 / std::sqrt(static_cast<double>(head_dim_)); }
  template <class A>
  double at(const A& a, std::size_t head, std::size_t row, std::size_t d) const {
    return static_cast<float>(a((head * seq_ + row) * head_dim_ + d));
  }
  template <class A, class B>
  double dot(const A& a, std::size_t head, std::size_t row, const B& b,
             std::size_t row_of_b) const {
    double sum = 0;
    for (std::size_t d = 0; d < head_dim_; ++d) {
      sum += at(a, head, row, d) * at(b, head, row_of_b, d);
    }
    return sum;
  }
  template <class A>
  void add(std::vector<double>& to, double factor, const A& a, std::size_t head,
           std::size_t row) const {
    if (factor == 0) return;
    for (std::size_t d = 0; d < head_dim_; ++d) to[d] += factor * at(a, head, row, d);
  }
  double weight(std::size_t head, std::size_t query, std::size_t key) const {
    constexpr double log2_e = 1.4426950408889634;
    if (causal_ && key > query) return 0;
    const double score = dot(of_.q, head, query, of_.k, key) * root() * log2_e;
    return std::exp2(score - of_.log_sums(head * seq_ + query));
  }
  // What the score changes by.
  double change(std::size_t head, std::size_t query, std::size_t key, double product) const {
    if (causal_ && key > query) return 0;
    return weight(head, query, key) * (dot(of_.d_out, head, query, of_.v, key) - product);
  }

  const Of& of_;
  std::size_t seq_, head_dim_;
  bool causal_;
};

}  // namespace attention::backward
