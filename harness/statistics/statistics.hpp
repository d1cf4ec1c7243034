// Order statistics of a row's samples. Pure functions; no distribution is assumed anywhere.
//
// Samples come in any unit and any order; answers are in the same unit. Every function throws
// std::invalid_argument on an empty span and on a sample that is not finite.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace gpubench {

struct Summary {
  double min = 0;
  double median = 0;
  double q1 = 0;
  double q3 = 0;
  double max = 0;
  std::optional<double> ci_low;  // 95 % interval of the median; absent below 6 samples
  std::optional<double> ci_high;
  std::size_t samples = 0;
};

struct Quartiles {
  double q1 = 0;
  double median = 0;
  double q3 = 0;
};

struct Interval {
  double low = 0;
  double high = 0;
};

// Positions in the sorted sample, counted from 1.
struct Ranks {
  std::size_t low = 0;
  std::size_t high = 0;
};

// Linear interpolation between the two neighbours of (n - 1) * p: type 7 of Hyndman and Fan,
// "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996), as in NumPy.
// p outside [0, 1] throws std::invalid_argument.
double quantile(std::span<const double> samples, double p);

double median(std::span<const double> samples);

Quartiles quartiles(std::span<const double> samples);

// 1.4826 times the median absolute deviation from the median: estimates the standard deviation of
// normal data and, unlike it, does not notice a few outliers. 0 for a single sample.
double robust_sigma(std::span<const double> samples);

// The order statistics that bracket the true median of any distribution with probability 95 % or
// more, each tail holding at most 2.5 %: the number of samples below the median is binomial(n,
// 1/2). Hoefler and Belli, "Scientific Benchmarking of Parallel Computing Systems", SC'15. Absent
// for n < 6: even [min, max] of 5 samples covers only 93.75 %. Takes time linear in n.
std::optional<Ranks> median_interval_ranks(std::size_t n);

// The samples at those ranks.
std::optional<Interval> median_interval(std::span<const double> samples);

Summary summarize(std::span<const double> samples);

}  // namespace gpubench
