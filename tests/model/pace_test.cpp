#include "harness/platform/model/conditions/pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "harness/evidence/evidence.hpp"

namespace gpubench::model {
namespace {

constexpr double full_hz = 1.98e9;
constexpr double rounding = 1e-12;  // of times of seconds

// Runs of `kernel_seconds`, one after the other.
std::vector<double> runs(Pace& pace, double kernel_seconds, int times, double start = 0) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    seconds.push_back(pace.kernel_seconds(kernel_seconds, start));
    start += seconds.back();
  }
  return seconds;
}

double median_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

TEST(Pace, WithoutConditionsAKernelTakesItsTime) {
  Pace pace({}, full_hz);
  EXPECT_NEAR(pace.kernel_seconds(1e-3, 5), 1e-3, rounding);
  EXPECT_EQ(pace.clock_hz(5), full_hz);
  EXPECT_EQ(pace.event_reading(1.23), 1.23);
  EXPECT_EQ(pace.host_seconds(2e-6), 2e-6);
}

TEST(Pace, AClockWakesUnderLoadAndSleepsAgain) {
  TimingConditions conditions;
  conditions.clock.idle_hz = 345e6;
  conditions.clock.ramp_seconds = 0.04;
  conditions.clock.idle_after_seconds = 0.5;
  Pace pace(conditions, full_hz);
  const std::vector<double> seconds = runs(pace, 1e-3, 100);
  EXPECT_GT(seconds.front(), 4e-3) << "at 345 MHz and little more";
  EXPECT_NEAR(seconds.back(), 1e-3, rounding);
  pace.idle_until(2);
  EXPECT_EQ(pace.clock_hz(2), 345e6);
  EXPECT_EQ(pace.reasons(2), clock_reason::idle);
}

TEST(Pace, CyclesAreTheClockOverTime) {
  TimingConditions conditions;
  conditions.clock.idle_hz = 345e6;
  Pace pace(conditions, full_hz);
  runs(pace, 1e-3, 200);
  const double cycles = pace.cycles(0.15) - pace.cycles(0.1);
  EXPECT_NEAR(cycles / 0.05, full_hz, 1);
  EXPECT_LT(pace.cycles(0.01) / 0.01, 0.5 * full_hz);
}

TEST(Pace, HeavyKernelsAreHeldBackAndRestHelps) {
  TimingConditions conditions;
  conditions.clock.limit_hz = 1.68e9;
  Pace pace(conditions, full_hz);
  EXPECT_NEAR(runs(pace, 1e-3, 200).back(), 1e-3 * full_hz / 1.68e9, 1e-9);
  EXPECT_EQ(pace.reasons(0.2), clock_reason::software_power_cap);
  EXPECT_NEAR(pace.kernel_seconds(1e-3, 0.5), 1e-3, rounding);
  EXPECT_NEAR(runs(pace, 10e-6, 10000, 1).back(), 10e-6, rounding) << "short kernels are no load";
}

TEST(Pace, OnlyWhatGoesWithTheClockIsSlower) {
  TimingConditions conditions;
  conditions.clock.limit_hz = full_hz / 2;
  conditions.clock.share = 0.25;
  Pace pace(conditions, full_hz);
  EXPECT_NEAR(runs(pace, 1e-3, 200).back(), 1.25e-3, 1e-9);
}

TEST(Pace, EventsTick) {
  TimingConditions conditions;
  conditions.event_tick_seconds = 0.5e-6;
  const Pace pace(conditions, full_hz);
  for (int i = 0; i < 100; ++i) {
    const double ticks = pace.event_reading(1e-6 + i * 1e-8) / 0.5e-6;
    EXPECT_NEAR(ticks, std::round(ticks), 1e-9);
  }
}

TEST(Pace, TheMedianOfTheNoiseIsTheTruth) {
  TimingConditions conditions;
  conditions.noise.sigma = 0.01;
  conditions.noise.tail_probability = 0.2;
  conditions.noise.tail_mean = 0.5;
  conditions.noise.drift_sigma = 0.01;
  conditions.noise.drift_seconds = 1e-3;
  conditions.noise.process_sigma = 0.1;
  Pace pace(conditions, full_hz);
  const double truth = pace.true_seconds(1e-3);
  EXPECT_NE(truth, pace.true_seconds_of_all_processes(1e-3));
  EXPECT_NEAR(median_of(runs(pace, 1e-3, 40000)), truth, 0.0005 * truth);
}

TEST(Pace, TheMedianBesideATenantIsTheTruth) {
  TimingConditions conditions;
  conditions.noise.sigma = 0.01;
  conditions.tenant = {.period_seconds = 7e-3, .burst_seconds = 2e-3, .slowdown = 3, .jitter = 0.3};
  for (const double kernel_seconds : {1e-4, 3e-3, 20e-3}) {
    Pace pace(conditions, full_hz);
    const double truth = pace.true_seconds(kernel_seconds);
    std::minstd_rand random(1);
    std::uniform_real_distribution<double> gap(0, 10 * conditions.tenant.period_seconds);
    std::vector<double> seconds;
    for (double start = 0; seconds.size() < 20000; start += seconds.back() + gap(random)) {
      seconds.push_back(pace.kernel_seconds(kernel_seconds, start));
    }
    EXPECT_NEAR(median_of(seconds), truth, 0.01 * truth);
    EXPECT_GE(truth, kernel_seconds);
  }
}

TEST(Pace, EqualSeedsAreEqualDevices) {
  TimingConditions conditions;
  conditions.noise.sigma = 0.01;
  Pace one(conditions, full_hz), same(conditions, full_hz);
  conditions.seed = 2;
  Pace other(conditions, full_hz);
  const auto first = runs(one, 1e-3, 10);
  EXPECT_EQ(first, runs(same, 1e-3, 10));
  EXPECT_NE(first, runs(other, 1e-3, 10));
}

}  // namespace
}  // namespace gpubench::model
