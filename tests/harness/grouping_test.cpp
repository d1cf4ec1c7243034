#include "harness/statistics/grouping.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "harness/statistics/statistics.hpp"

namespace gpubench {
namespace {

// What events of that tick say of equal runs that begin at random moments.
std::vector<double> readings(double seconds, double tick, std::size_t runs, unsigned seed = 1) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<double> phase(0, tick);
  std::vector<double> result;
  for (std::size_t i = 0; i < runs; ++i) {
    const double begin = phase(random);
    result.push_back(std::floor((begin + seconds) / tick) * tick);
  }
  return result;
}

TEST(Grouping, WithoutATickEveryRunIsASample) {
  Grouping grouping(0);
  grouping.add(std::vector<double>{3e-6, 1e-6, 2e-6});
  EXPECT_EQ(grouping.group(), 1U);
  EXPECT_EQ(grouping.samples(), (std::vector<double>{3e-6, 1e-6, 2e-6}));
  EXPECT_EQ(grouping.resolution(), 0);
}

TEST(Grouping, ALongRunNeedsNoGroupAndKeepsTheTicksDoubt) {
  Grouping grouping(1e-6);
  grouping.add(readings(2e-3, 1e-6, 10));
  EXPECT_EQ(grouping.group(), 1U);
  EXPECT_DOUBLE_EQ(grouping.resolution(), 1e-6);
}

TEST(Grouping, TheMeanOfCoarseReadingsIsTheTruth) {
  constexpr double truth = 2.3e-6, tick = 1e-6;
  Grouping grouping(tick);
  for (unsigned batch = 0; batch < 100; ++batch) {
    grouping.add(readings(truth, tick, 100, batch + 1));
  }
  EXPECT_GT(grouping.group(), 100U);
  ASSERT_GE(grouping.samples().size(), 10U);
  EXPECT_NEAR(median(grouping.samples()), truth, 0.01 * truth) << "no reading is";
  EXPECT_LT(grouping.resolution(), 0.002 * truth);
}

TEST(Grouping, AnInterruptIsLeftOut) {
  constexpr double truth = 2.3e-6, tick = 1e-6;
  Grouping grouping(tick);
  for (unsigned batch = 0; batch < 100; ++batch) {
    std::vector<double> runs = readings(truth, tick, 100, batch + 1);
    for (std::size_t i = 0; i < runs.size(); i += 20) runs[i] += 50e-6;
    grouping.add(runs);
  }
  EXPECT_NEAR(median(grouping.samples()), truth, 0.01 * truth);
}

TEST(Grouping, RunsJustBeyondATickSayThatOthersHideWithinIt) {
  constexpr double tick = 1e-6;
  Grouping clean(tick), tailed(tick);
  std::vector<double> runs = readings(2.3e-6, tick, 1000);
  clean.add(runs);
  for (std::size_t i = 0; i < runs.size(); i += 50) runs[i] = 4e-6;
  tailed.add(runs);
  EXPECT_GT(tailed.resolution(), 2 * clean.resolution());
}

TEST(Grouping, ForgetsWhatItIsToldToAndKeepsTheGroup) {
  Grouping grouping(0.5e-6);
  grouping.add(readings(20e-6, 0.5e-6, 100));
  const std::size_t group = grouping.group();
  EXPECT_EQ(grouping.runs(), 100U);
  grouping.clear();
  EXPECT_EQ(grouping.runs(), 0U);
  EXPECT_EQ(grouping.device_seconds(), 0);
  EXPECT_TRUE(grouping.samples().empty());
  grouping.add(readings(2e-6, 0.5e-6, 10));
  EXPECT_EQ(grouping.group(), group);
}

}  // namespace
}  // namespace gpubench
