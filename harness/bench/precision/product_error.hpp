// How far a matrix product is from fp64: a row's counters `relative_error` and `error_law`, and
// whether the row's results are those of its dtype at all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/bench/bench.hpp"

namespace gpubench {

// rows x columns elements, spread evenly over a D[n][n] whose elements are sums of n products: few
// enough that the model computes them (gemm/gemm.cpp) if a sum has `parts` times as many products,
// but one row of 16 bytes at least.
struct ProductSample {
  std::size_t n, rows = 1, columns = 1;

  static ProductSample of(std::size_t n, std::size_t most_rows, std::size_t parts = 1) {
    constexpr std::size_t computed = std::size_t{1} << 22, least = 8;
    const std::size_t most = computed / (n * parts);
    most_rows = std::min(most_rows, n);
    ProductSample sample{n};
    while (2 * sample.rows <= most_rows && sample.rows * sample.rows < most) sample.rows *= 2;
    sample.columns =
        std::max(std::min(most / sample.rows, most_rows) / least, std::size_t{1}) * least;
    return sample;
  }
  std::size_t row_step() const { return n / rows; }
  std::size_t column_step() const { return n / columns; }
};

// Throws if an element of D on the device still holds the poison. (Integers may hold its bits.)
template <class Out>
void require_written(const Out* d, std::size_t elements) {
  if (std::is_integral_v<Out>) return;
  std::vector<Out> part(std::min(elements, std::size_t{1} << 22));
  for (std::size_t begin = 0; begin < elements; begin += part.size()) {
    const std::size_t size = std::min(part.size(), elements - begin);
    CUDA_CHECK(cudaMemcpy(part.data(), d + begin, size * sizeof(Out), cudaMemcpyDeviceToHost));
    const auto end = part.begin() + static_cast<std::ptrdiff_t>(size);
    const auto left = std::find_if(part.begin(), end, [](const Out& x) { return is_poison(x); });
    if (left == end) continue;
    throw std::runtime_error("element " +
                             std::to_string(begin + static_cast<std::size_t>(left - part.begin())) +
                             " of the product was not written");
  }
}

// The sampled elements of a whole D on the device.
template <class Out>
std::vector<double> sampled(const ProductSample& sample, const Out* d) {
  std::vector<double> got;
  std::vector<Out> row(sample.n);
  for (std::size_t r = 0; r < sample.rows; ++r) {
    CUDA_CHECK(cudaMemcpy(row.data(), d + r * sample.row_step() * sample.n, sample.n * sizeof(Out),
                          cudaMemcpyDeviceToHost));
    for (std::size_t c = 0; c < sample.columns; ++c) {
      got.push_back(static_cast<double>(row[c * sample.column_step()]));
    }
  }
  return got;
}

// ||got - exact|| / ||exact||, 0 if both are zero. Element i of the sampled rows of A is of_a(i),
// and of B's alike.
template <class A, class B>
double relative_error(const ProductSample& sample, const std::vector<double>& got, A of_a, B of_b) {
  std::vector<double> b(sample.columns * sample.n), a(sample.n);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = of_b(i);
  double lost = 0, all = 0;
  for (std::size_t r = 0; r < sample.rows; ++r) {
    for (std::size_t i = 0; i < sample.n; ++i) a[i] = of_a(r * sample.n + i);
    for (std::size_t c = 0; c < sample.columns; ++c) {
      long double exact = 0;
      for (std::size_t i = 0; i < sample.n; ++i) {
        exact += static_cast<long double>(a[i]) * b[c * sample.n + i];
      }
      const auto off = static_cast<double>(got[r * sample.columns + c] - exact);
      lost += off * off;
      all += static_cast<double>(exact * exact);
    }
  }
  return all > 0 ? std::sqrt(lost / all) : std::sqrt(lost);
}

// "" or what is wrong with an error of which `operands` and `sums` are expected. How a unit adds up
// may differ by a factor of 4 between architectures; less than half of what rounding the operands
// costs means that they were not rounded. (`operands_at_most`: another way to round them.)
inline std::string judge_error(double error, double operands, double sums,
                               double operands_at_most) {
  constexpr double of_the_check = 1e-15;  // where nothing is lost
  const bool exact = operands == 0 && sums == 0;
  const double least = operands / 2,
               most = exact ? of_the_check : 2 * std::hypot(operands_at_most, 4 * sums);
  if (error >= least && error <= most) return "";
  return "the error against fp64 is " + number_text(error) + ", expected " + number_text(least) +
         " to " + number_text(most);
}

// Has the error of the row's product measured and judged after one run of the body: call
// note_error() after run().
template <class Loss>
class ErrorOfRow {
 public:
  // `error()` runs what it takes.
  ErrorOfRow(Bench& bench, const Loss& loss, std::function<double()> error)
      : bench_(bench), loss_(loss) {
    bench.check([this, error](bool) {
      error_ = error();
      return judge_error(error_, loss_.operands, loss_.sums, loss_.operands_at_most);
    });
  }
  ErrorOfRow(const ErrorOfRow&) = delete;
  ErrorOfRow& operator=(const ErrorOfRow&) = delete;

  void note_error() const {
    bench_.counter("relative_error", error_);
    bench_.counter("error_law", loss_.total());
  }

 private:
  Bench& bench_;
  Loss loss_;
  double error_ = NAN;
};

}  // namespace gpubench
