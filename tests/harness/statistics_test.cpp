#include "harness/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpubench {
namespace {

using nlohmann::json;

// SciPy's and NumPy's answers, written by statistics_reference.py.
const json& reference() {
  static const json content = [] {
    const auto path =
        std::filesystem::path(GPUBENCH_SOURCE_DIR) / "tests" / "data" / "statistics_reference.json";
    std::ifstream file(path);
    return json::parse(file);
  }();
  return content;
}

void expect_same(double ours, const json& theirs) {
  const double expected = theirs.get<double>();
  EXPECT_NEAR(ours, expected, 1e-12 * std::abs(expected));
}

void for_each_case(const std::function<void(const json&, const std::vector<double>&)>& check) {
  ASSERT_GE(reference().at("cases").size(), 44u);
  for (const json& entry : reference().at("cases")) {
    const auto samples = entry.at("samples").get<std::vector<double>>();
    SCOPED_TRACE(entry.at("distribution").get<std::string>() + ", " +
                 std::to_string(samples.size()) + " samples");
    check(entry, samples);
  }
}

TEST(Statistics, QuantilesAreNumpys) {
  const auto probabilities = reference().at("probabilities").get<std::vector<double>>();
  for_each_case([&](const json& entry, const std::vector<double>& samples) {
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      SCOPED_TRACE(probabilities[i]);
      expect_same(quantile(samples, probabilities[i]), entry.at("quantiles").at(i));
    }
    expect_same(median(samples), entry.at("median"));
  });
}

TEST(Statistics, RobustSigmaIsScipys) {
  for_each_case([](const json& entry, const std::vector<double>& samples) {
    expect_same(robust_sigma(samples), entry.at("robust_sigma"));
  });
}

TEST(Statistics, MedianIntervalIsScipys) {
  for_each_case([](const json& entry, const std::vector<double>& samples) {
    const auto interval = median_interval(samples);
    const json& theirs = entry.at("median_interval");
    ASSERT_EQ(interval.has_value(), !theirs.is_null());
    if (!interval) return;
    expect_same(interval->low, theirs.at(0));
    expect_same(interval->high, theirs.at(1));
  });
}

TEST(Statistics, RanksAreScipysUpToAMillionSamples) {
  for (const json& entry : reference().at("median_interval_ranks")) {
    const auto samples = entry.at("samples").get<std::size_t>();
    SCOPED_TRACE(samples);
    const auto ranks = median_interval_ranks(samples);
    const json& theirs = entry.at("ranks");
    ASSERT_EQ(ranks.has_value(), !theirs.is_null());
    if (!ranks) continue;
    EXPECT_EQ(ranks->low, theirs.at(0).get<std::size_t>());
    EXPECT_EQ(ranks->high, theirs.at(1).get<std::size_t>());
  }
}

TEST(Statistics, SummaryHoldsEveryFigure) {
  for_each_case([](const json& entry, const std::vector<double>& samples) {
    const Summary summary = summarize(samples);
    EXPECT_EQ(summary.samples, samples.size());
    EXPECT_EQ(summary.min, entry.at("min").get<double>());
    EXPECT_EQ(summary.max, entry.at("max").get<double>());
    expect_same(summary.median, entry.at("median"));
    const Quartiles quarters = quartiles(samples);
    EXPECT_EQ(summary.q1, quarters.q1);
    EXPECT_EQ(summary.median, quarters.median);
    EXPECT_EQ(summary.q3, quarters.q3);
    EXPECT_EQ(quarters.q1, quantile(samples, 0.25));
    EXPECT_EQ(quarters.q3, quantile(samples, 0.75));
    const json& theirs = entry.at("median_interval");
    ASSERT_EQ(summary.ci_low.has_value(), !theirs.is_null());
    ASSERT_EQ(summary.ci_high.has_value(), !theirs.is_null());
    if (theirs.is_null()) return;
    expect_same(*summary.ci_low, theirs.at(0));
    expect_same(*summary.ci_high, theirs.at(1));
  });
}

TEST(Statistics, SmallCasesByHand) {
  const std::vector<double> shuffled{4, 1, 3, 2};
  EXPECT_EQ(median(shuffled), 2.5);
  EXPECT_EQ(quantile(shuffled, 0), 1);
  EXPECT_EQ(quantile(shuffled, 1), 4);
  EXPECT_EQ(quantile(shuffled, 0.25), 1.75);
  EXPECT_EQ(shuffled, (std::vector<double>{4, 1, 3, 2})) << "the caller's samples keep their order";
  // Deviations from 2.5 are 1.5, 1.5, 0.5, 0.5: their median is 1.
  EXPECT_NEAR(robust_sigma(shuffled), 1.4826, 1e-4);
  // One wild sample of five moves neither.
  EXPECT_EQ(median(std::vector<double>{1, 2, 3, 4, 1e9}), 3);
  EXPECT_NEAR(robust_sigma(std::vector<double>{1, 2, 3, 4, 1e9}), 1.4826, 1e-4);
}

TEST(Statistics, NoIntervalBelowSixSamples) {
  // P(all 5 samples on one side of the median) = 2 / 2^5 = 6.25 % > 5 %; of 6: 3.125 %.
  for (std::size_t n = 0; n < 6; ++n) EXPECT_FALSE(median_interval_ranks(n)) << n;
  const auto ranks = median_interval_ranks(6);
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->low, 1u);
  EXPECT_EQ(ranks->high, 6u);
}

TEST(Statistics, RefusesWhatHasNoAnswer) {
  const std::vector<double> none;
  const std::vector<double> one{1};
  EXPECT_THROW(median(none), std::invalid_argument);
  EXPECT_THROW(summarize(none), std::invalid_argument);
  EXPECT_THROW(robust_sigma(none), std::invalid_argument);
  EXPECT_THROW(quantile(one, 1.01), std::invalid_argument);
  EXPECT_THROW(quantile(one, -0.01), std::invalid_argument);
  EXPECT_THROW(quantile(one, std::nan("")), std::invalid_argument);
  const std::vector<double> broken{1, 2, std::nan(""), 4};
  try {
    summarize(broken);
    ADD_FAILURE() << "a sample that is no number was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "sample 2 is not a finite number");
  }
  EXPECT_THROW(median(std::vector<double>{1, std::numeric_limits<double>::infinity()}),
               std::invalid_argument);
}

// The share of seeded trials of 20 samples whose interval holds the true median.
double coverage(const std::function<double(std::mt19937_64&)>& draw, double true_median) {
  constexpr int trials = 2000;
  std::mt19937_64 generator(7);
  int covered = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples(20);
    for (double& sample : samples) sample = draw(generator);
    const auto interval = median_interval(samples);
    covered += interval->low <= true_median && true_median <= interval->high;
  }
  return static_cast<double>(covered) / trials;
}

// By theory 95.86 % for 20 samples of any continuous distribution, and 0.45 % is the standard error
// of 2000 trials. Bounded above too: an interval that is always too wide is as wrong.
TEST(Statistics, IntervalCoversTheMedianOfNormalSamples) {
  std::normal_distribution<double> normal(10, 3);
  const double share = coverage([&](auto& generator) { return normal(generator); }, 10);
  EXPECT_GE(share, 0.94);
  EXPECT_LE(share, 0.975);
}

TEST(Statistics, IntervalCoversTheMedianOfExponentialSamples) {
  std::exponential_distribution<double> exponential(1);
  const double share =
      coverage([&](auto& generator) { return exponential(generator); }, std::log(2.0));
  EXPECT_GE(share, 0.94);
  EXPECT_LE(share, 0.975);
}

// How many of the intervals of `samples` random numbers hold their median, 0. `alike`: how much of
// a number the next one keeps.
double coverage(std::size_t samples, double alike, bool serial) {
  constexpr int rows = 1000;
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  int held = 0;
  for (int row = 0; row < rows; ++row) {
    std::vector<double> values;
    double state = normal(generator);
    for (std::size_t i = 0; i < samples; ++i) {
      values.push_back(state);
      state = alike * state + std::sqrt(1 - alike * alike) * normal(generator);
    }
    const auto interval = serial ? serial_median_interval(values) : median_interval(values);
    held += interval->low <= 0 && 0 <= interval->high;
  }
  return static_cast<double>(held) / rows;
}

TEST(Statistics, ASerialIntervalHoldsTheMedianOfSamplesThatAreAlike) {
  EXPECT_GE(coverage(200, 0, true), 0.95);
  EXPECT_GE(coverage(200, 0.8, true), 0.93);
  EXPECT_LT(coverage(200, 0.8, false), 0.7) << "or the other would do";
}

// By hand: the fractions below the median are 0.5 + d, d^2 = 0.01 in eight stretches of ten.
// Their autocorrelation is 2/8, and 0.1 more for being estimated from ten; so the rank is off by
// 2.5 sqrt(8/9 0.01 (1.35 / 0.65) / 10) = 10.74 % of 199.
TEST(Statistics, AShortAutocorrelationIsTakenForATenthMore) {
  std::vector<double> values;
  double low = 0, high = 100;
  for (const int more : {2, 2, -2, -2, 0, 2, 2, -2, -2, 0}) {
    for (int i = 0; i < 20; ++i) values.push_back(i < 10 + more ? low++ : high++);
  }
  const auto interval = serial_median_interval(values);
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 78);    // floor(199 (0.5 - 0.1074))
  EXPECT_EQ(interval->high, 121);  // ceil(199 (0.5 + 0.1074))
}

TEST(Statistics, ASerialIntervalIsNeverNarrower) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal(1, 0.01);
  for (const std::size_t n : {6U, 19U, 20U, 21U, 500U}) {
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(normal(generator));
    const auto wide = serial_median_interval(values), narrow = median_interval(values);
    EXPECT_LE(wide->low, narrow->low);
    EXPECT_GE(wide->high, narrow->high);
  }
  EXPECT_FALSE(serial_median_interval(std::vector<double>(5, 1.0)).has_value());
}

}  // namespace
}  // namespace gpubench
