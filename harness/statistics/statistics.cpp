#include "harness/statistics/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpubench {
namespace {

constexpr std::size_t kStretches = 10;
// 98.3 % of Student's t lie below, with kStretches - 1 degrees of freedom: a row that stops once
// its interval is narrow, at the second look that says so, stops too often on one narrow by chance.
constexpr double kStudent = 2.5;
constexpr double kTail = 0.025;  // on each side of a 95 % interval
// 1 / Phi^-1(3/4), which makes the median absolute deviation of normal data their sigma.
constexpr double kSigmaPerDeviation = 1.482602218505602;

std::vector<double> sorted(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics of no samples");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!std::isfinite(samples[i])) {
      throw std::invalid_argument("sample " + std::to_string(i) + " is not a finite number");
    }
  }
  std::vector<double> result(samples.begin(), samples.end());
  std::sort(result.begin(), result.end());
  return result;
}

double sorted_quantile(const std::vector<double>& sorted, double p) {
  const double position = static_cast<double>(sorted.size() - 1) * p;
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

std::optional<Interval> sorted_median_interval(const std::vector<double>& sorted) {
  const auto ranks = median_interval_ranks(sorted.size());
  if (!ranks) return std::nullopt;
  return Interval{sorted[ranks->low - 1], sorted[ranks->high - 1]};
}

}  // namespace

double quantile(std::span<const double> samples, double p) {
  if (!(p >= 0 && p <= 1)) {
    throw std::invalid_argument("quantile " + std::to_string(p) + " is not in [0, 1]");
  }
  return sorted_quantile(sorted(samples), p);
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

Quartiles quartiles(std::span<const double> samples) {
  const auto values = sorted(samples);
  return {sorted_quantile(values, 0.25), sorted_quantile(values, 0.5),
          sorted_quantile(values, 0.75)};
}

double robust_sigma(std::span<const double> samples) {
  const double centre = median(samples);
  std::vector<double> deviations(samples.begin(), samples.end());
  for (double& value : deviations) value = std::abs(value - centre);
  return kSigmaPerDeviation * median(deviations);
}

std::optional<Ranks> median_interval_ranks(std::size_t n) {
  if (n == 0) return std::nullopt;
  // From the centre, where symmetry gives the sum of the lower half exactly, down to the tail: the
  // outermost probabilities of a large n are too small for a double, and are never needed.
  const std::size_t half = n / 2;
  double probability = 1;  // of `half` successes in 2 * half trials, then in n
  for (std::size_t i = 1; i <= half; ++i) {
    probability *= static_cast<double>(2 * i - 1) / static_cast<double>(2 * i);
  }
  const bool odd = n % 2 == 1;
  if (odd) probability *= static_cast<double>(n) / static_cast<double>(2 * (half + 1));

  std::size_t k = half;  // invariant: probability is P(B = k), cumulative is P(B <= k)
  double cumulative = odd ? 0.5 : 0.5 + probability / 2;
  while (cumulative > kTail) {
    if (k == 0) return std::nullopt;
    cumulative -= probability;
    probability *= static_cast<double>(k) / static_cast<double>(n - k + 1);
    --k;
  }
  return Ranks{k + 1, n - k};
}

std::optional<Interval> median_interval(std::span<const double> samples) {
  return sorted_median_interval(sorted(samples));
}

std::optional<Interval> serial_median_interval(std::span<const double> samples) {
  const std::vector<double> values = sorted(samples);
  const std::size_t n = values.size();
  std::optional<Interval> interval = sorted_median_interval(values);
  if (!interval || n < 2 * kStretches) return interval;
  const double middle = sorted_quantile(values, 0.5);
  std::array<double, kStretches> below{};  // of each stretch, as a fraction
  for (std::size_t s = 0; s < kStretches; ++s) {
    const std::size_t begin = s * n / kStretches, end = (s + 1) * n / kStretches;
    for (std::size_t i = begin; i < end; ++i) {
      below[s] += samples[i] < middle ? 1 : samples[i] == middle ? 0.5 : 0;
    }
    below[s] /= static_cast<double>(end - begin);
  }
  double squares = 0, neighbours = 0;
  for (std::size_t s = 0; s < kStretches; ++s) {
    squares += (below[s] - 0.5) * (below[s] - 0.5);
    if (s > 0) neighbours += (below[s] - 0.5) * (below[s - 1] - 0.5);
  }
  // With so few, it comes out low by about one over their number (Marriott and Pope, "Bias in the
  // estimation of autocorrelations", Biometrika 41, 1954).
  const double alike =
      squares > 0 ? std::clamp(neighbours / squares + 1.0 / kStretches, 0.0, 0.9) : 0;
  const double variance = squares / (kStretches - 1) * (1 + alike) / (1 - alike);
  const double off = kStudent * std::sqrt(variance / kStretches);
  const double ranks = static_cast<double>(n - 1);
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(ranks * (0.5 - off))));
  const auto high = static_cast<std::size_t>(std::min(ranks, std::ceil(ranks * (0.5 + off))));
  interval->low = std::min(interval->low, values[low]);
  interval->high = std::max(interval->high, values[high]);
  return interval;
}

Summary summarize(std::span<const double> samples) {
  const auto values = sorted(samples);
  Summary summary{.min = values.front(),
                  .median = sorted_quantile(values, 0.5),
                  .q1 = sorted_quantile(values, 0.25),
                  .q3 = sorted_quantile(values, 0.75),
                  .max = values.back(),
                  .ci_low = std::nullopt,
                  .ci_high = std::nullopt,
                  .samples = values.size()};
  if (const auto interval = sorted_median_interval(values)) {
    summary.ci_low = interval->low;
    summary.ci_high = interval->high;
  }
  return summary;
}

}  // namespace gpubench
