#include "harness/statistics/stop_rule.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace gpubench {
namespace {

const StopSettings stop_settings{
    .relative_half_width = 0.005, .min_samples = 10, .max_samples = 1000, .budget_seconds = 2};
constexpr double in_time = 0.1;

// The interval of the median of 10 samples goes from the second smallest to the second largest.
std::vector<double> ten_samples(double second, double ninth) {
  return {100, ninth, 100, 100, 50, 100, 200, 100, second, 100};
}

TEST(StopRule, ConvergesWhenHalfTheIntervalIsUnderHalfAPercent) {
  EXPECT_EQ(decide(ten_samples(99.6, 100.4), in_time, stop_settings), Verdict::converged);
  EXPECT_EQ(decide(ten_samples(99.4, 100.6), in_time, stop_settings), Verdict::more);
}

TEST(StopRule, ExactlyHalfAPercentIsNotUnderIt) {
  EXPECT_EQ(decide(ten_samples(99.5, 100.5), in_time, stop_settings), Verdict::more);
}

TEST(StopRule, WidthOfAnAsymmetricIntervalCounts) {
  EXPECT_EQ(decide(ten_samples(100, 100.9), in_time, stop_settings), Verdict::converged);
  EXPECT_EQ(decide(ten_samples(100, 101.1), in_time, stop_settings), Verdict::more);
}

TEST(StopRule, RelativeToTheMedian) {
  auto samples = ten_samples(99.6, 100.4);
  for (double& sample : samples) sample *= 1e-8;
  EXPECT_EQ(decide(samples, in_time, stop_settings), Verdict::converged);
  for (double& sample : samples) sample -= 0.9e-6;  // the same width around a tenth of the median
  EXPECT_EQ(decide(samples, in_time, stop_settings), Verdict::more);
}

TEST(StopRule, AConstantConvergesAtTheMinimumAndNotBefore) {
  std::vector<double> samples;
  for (std::size_t n = 1; n < stop_settings.min_samples; ++n) {
    samples.push_back(3e-6);
    EXPECT_EQ(decide(samples, in_time, stop_settings), Verdict::more) << n;
  }
  samples.push_back(3e-6);
  EXPECT_EQ(decide(samples, in_time, stop_settings), Verdict::converged);
}

TEST(StopRule, AMinimumBelowSixWaitsForAnInterval) {
  StopSettings hasty = stop_settings;
  hasty.min_samples = 1;
  std::vector<double> samples(5, 1.0);
  EXPECT_EQ(decide(samples, in_time, hasty), Verdict::more);
  samples.push_back(1.0);
  EXPECT_EQ(decide(samples, in_time, hasty), Verdict::converged);
}

TEST(StopRule, NoiseOfTwoModesNeverConverges) {
  std::vector<double> samples;
  while (samples.size() < stop_settings.max_samples - 1) {
    samples.push_back(samples.size() % 2 == 0 ? 1 : 2);
    ASSERT_EQ(decide(samples, in_time, stop_settings), Verdict::more) << samples.size();
  }
  samples.push_back(2);
  EXPECT_EQ(decide(samples, in_time, stop_settings), Verdict::budget_spent);
}

TEST(StopRule, ModestNoiseConvergesOnceThereAreEnoughSamples) {
  // Sigma 2 %: half a 95 % interval of the median is about 1.96 * 1.25 * 2 % / sqrt(n), so 0.5 % is
  // reached near n = 96.
  std::mt19937_64 generator(3);
  std::normal_distribution<double> noise(1, 0.02);
  std::vector<double> samples;
  Verdict verdict = Verdict::more;
  while (verdict == Verdict::more) {
    samples.push_back(noise(generator));
    verdict = decide(samples, in_time, stop_settings);
  }
  EXPECT_EQ(verdict, Verdict::converged);
  EXPECT_GT(samples.size(), 30u);
  EXPECT_LT(samples.size(), 200u);
}

TEST(StopRule, TimeStopsWhatHasNotConverged) {
  const auto noisy = ten_samples(90, 110);
  EXPECT_EQ(decide(noisy, 1.999, stop_settings), Verdict::more);
  EXPECT_EQ(decide(noisy, 2, stop_settings), Verdict::budget_spent);
}

TEST(StopRule, WhatConvergedInTheEndDidConverge) {
  EXPECT_EQ(decide(ten_samples(99.6, 100.4), 100, stop_settings), Verdict::converged);
}

TEST(StopRule, TimeStopsASlowRowBeforeTheMinimumButNotBeforeTheFirstSample) {
  const std::vector<double> none;
  const std::vector<double> one{30};
  EXPECT_EQ(decide(none, 30, stop_settings), Verdict::more);
  EXPECT_EQ(decide(one, 30, stop_settings), Verdict::budget_spent);
}

TEST(StopRule, ZerosAreUnresolvedNotConverged) {
  const std::vector<double> zeros(20, 0.0);
  EXPECT_EQ(decide(zeros, in_time, stop_settings), Verdict::more);
  EXPECT_EQ(decide(zeros, 2, stop_settings), Verdict::budget_spent);
}

TEST(StopRule, OutOfBudgetAsksForTimeAndSamplesOnly) {
  EXPECT_FALSE(out_of_budget(0, 30, stop_settings));
  EXPECT_FALSE(out_of_budget(999, 1.9, stop_settings));
  EXPECT_TRUE(out_of_budget(1000, 0, stop_settings));
  EXPECT_TRUE(out_of_budget(1, 2, stop_settings));
}

TEST(StopRule, WithoutAClockOnlySamplesCount) {
  const StopSettings unclocked = without_a_clock(stop_settings);
  constexpr double a_day = 86400;
  EXPECT_EQ(decide(std::vector<double>(9, 1e-6), a_day, unclocked), Verdict::more);
  EXPECT_EQ(decide(std::vector<double>(10, 1e-6), a_day, unclocked), Verdict::converged);
  EXPECT_EQ(decide(ten_samples(90, 110), a_day, unclocked), Verdict::more);
  std::vector<double> two_modes(100, 1e-6);
  for (std::size_t i = 0; i < two_modes.size(); i += 2) two_modes[i] = 2e-6;
  EXPECT_EQ(decide(two_modes, 0, unclocked), Verdict::budget_spent);
}

TEST(StopRule, EqualSamplesOfACoarseClockAreNoCertainty) {
  const std::vector<double> equal(20, 3e-6);
  EXPECT_EQ(decide(equal, in_time, stop_settings, {.resolution_seconds = 0.01e-6}),
            Verdict::converged);
  EXPECT_EQ(decide(equal, in_time, stop_settings, {.resolution_seconds = 0.5e-6}), Verdict::more);
  const auto interval = interval_of(equal, stop_settings, 0.5e-6);
  ASSERT_TRUE(interval.has_value());
  EXPECT_DOUBLE_EQ(interval->low, 2.5e-6);
  EXPECT_DOUBLE_EQ(interval->high, 3.5e-6);
}

TEST(StopRule, ARealDeviceIsMeasuredForAWhile) {
  const StopSettings real = with_a_clock(stop_settings);
  const std::vector<double> equal(20, 3e-6);
  EXPECT_EQ(decide(equal, in_time, real, {.device_seconds = 60e-6}), Verdict::more);
  EXPECT_EQ(decide(equal, in_time, real, {.device_seconds = 0.1}), Verdict::converged);
  EXPECT_GT(real.confirmations, 1U);
}

TEST(StopRule, ADriftIsNotTakenForPrecision) {
  std::vector<double> drifting;
  for (int i = 0; i < 500; ++i) drifting.push_back(1 + (i / 50 % 2 == 0 ? 0.01 : -0.01));
  for (int i = 0; i < 500; i += 5) drifting[static_cast<std::size_t>(i)] = 1;
  StopSettings serial = stop_settings;
  EXPECT_EQ(decide(drifting, in_time, serial), Verdict::converged);
  serial.serial = true;
  EXPECT_EQ(decide(drifting, in_time, serial), Verdict::more);
}

TEST(StopRule, ANumberOfSamplesIsNeitherMoreNorFewer) {
  for (const std::size_t n : {1U, 7U, 25U}) {
    const StopSettings exact = exactly(n, with_a_clock(stop_settings));
    EXPECT_EQ(next_check(0, exact), n);
    EXPECT_FALSE(out_of_budget(n - 1, 1e9, exact)) << "time does not end it";
    EXPECT_TRUE(out_of_budget(n, 0, exact));
    EXPECT_EQ(decide(std::vector<double>(n - 1, 1.0), in_time, exact), Verdict::more);
  }
  EXPECT_EQ(decide(std::vector<double>(7, 1.0), in_time, exactly(7, with_a_clock(stop_settings))),
            Verdict::converged);
  EXPECT_EQ(decide(std::vector<double>(1, 1.0), in_time, exactly(1, stop_settings)),
            Verdict::budget_spent)
      << "one sample has no interval";
}

TEST(StopRule, ChecksGrowByAFifth) {
  EXPECT_EQ(next_check(0, stop_settings), 10u);
  EXPECT_EQ(next_check(10, stop_settings), 12u);
  EXPECT_EQ(next_check(100, stop_settings), 120u);
  EXPECT_EQ(next_check(900, stop_settings), 1000u) << "never beyond the most samples allowed";
  StopSettings few = stop_settings;
  few.min_samples = 1;
  EXPECT_EQ(next_check(1, few), 2u) << "always onwards";
}

TEST(StopRule, SortingStaysAFewTimesTheLastSort) {
  StopSettings many = stop_settings;
  many.max_samples = 100'000;
  std::size_t sorted = 0;
  std::size_t n = 0;
  while (n < many.max_samples) {
    const std::size_t next = next_check(n, many);
    ASSERT_GT(next, n);
    sorted += next;
    n = next;
  }
  EXPECT_LE(sorted, 7 * many.max_samples);
}

}  // namespace
}  // namespace gpubench
