#include "harness/evidence/clock_keeper.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace gpubench {
namespace {

using Verdict = ClockKeeper::Verdict;

TEST(ClockKeeper, AWarmUpGoesOnWhileTheClockRises) {
  ClockKeeper keeper(0);
  double seconds = 0;
  for (const double hz : {345e6, 800e6, 1300e6, 1980e6, 1980e6}) keeper.warm(seconds += 0.01, hz);
  EXPECT_TRUE(keeper.still_rises(0.05, 1));
  for (int i = 0; i < 6; ++i) keeper.warm(seconds += 0.01, 1980e6);
  EXPECT_FALSE(keeper.still_rises(0.05, 1));
  EXPECT_EQ(keeper.reference_hz(), 1980e6) << "and not the mean with the idle clock";
}

TEST(ClockKeeper, AClockThatHasFallenNeedsNoMoreLoad) {
  ClockKeeper keeper(0);
  keeper.warm(0.01, 1980e6);
  keeper.warm(0.02, 1680e6);
  EXPECT_TRUE(keeper.has_fallen());
  EXPECT_FALSE(keeper.still_rises(0.05, 1));
  EXPECT_EQ(keeper.reference_hz(), 1980e6);
}

TEST(ClockKeeper, AClockThatNobodyReadsIsNoReasonToWait) {
  const ClockKeeper keeper(0);
  EXPECT_FALSE(keeper.still_rises(0.05, 1));
  EXPECT_FALSE(keeper.has_fallen());
  EXPECT_EQ(ClockKeeper(0).judge(std::nullopt), Verdict::at_the_clock);
}

TEST(ClockKeeper, TellsASleeperFromOneThatIsHeldBack) {
  ClockKeeper keeper(1980e6);
  EXPECT_EQ(keeper.judge(345e6), Verdict::waking);
  EXPECT_EQ(keeper.judge(900e6), Verdict::waking);
  EXPECT_EQ(keeper.judge(1975e6), Verdict::at_the_clock);
  EXPECT_EQ(keeper.judge(1680e6), Verdict::held);
  EXPECT_EQ(keeper.judge(1680e6), Verdict::held);
}

TEST(ClockKeeper, AFasterClockIsTheNewReference) {
  ClockKeeper keeper(1680e6);
  EXPECT_EQ(keeper.judge(1980e6), Verdict::above);
  EXPECT_EQ(keeper.judge(1980e6), Verdict::at_the_clock);
  EXPECT_EQ(keeper.judge(1680e6), Verdict::held);
}

TEST(ClockKeeper, AReadingBeyondWhatTheDriverNamesHoldsNothingAgainstOthers) {
  ClockKeeper keeper(0, 1980e6);
  keeper.warm(0.01, 2060e6);
  keeper.warm(0.02, 1980e6);
  EXPECT_EQ(keeper.reference_hz(), 1980e6);
  EXPECT_EQ(keeper.judge(1965e6), Verdict::at_the_clock);
  EXPECT_EQ(keeper.judge(2060e6), Verdict::at_the_clock) << "nor is it another clock";
  EXPECT_EQ(keeper.judge(1900e6), Verdict::held);
  EXPECT_EQ(ClockKeeper(2060e6, 1980e6).reference_hz(), 1980e6) << "nor does one of earlier rows";
}

TEST(ClockKeeper, OnceItHasGivenInAnyClockWillDo) {
  ClockKeeper keeper(1980e6);
  keeper.give_in();
  EXPECT_EQ(keeper.judge(1680e6), Verdict::at_the_clock);
}

}  // namespace
}  // namespace gpubench
