// Operations that slow each other: ends by hand, from what each claims.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <utility>

#include "harness/platform/model/runtime/timeline.hpp"

namespace gpubench::model {
namespace {

class ContentionTest : public testing::Test {
 protected:
  // One that gives SMs away every `wave`. With three quarters of them, which is what a collective
  // leaves, it takes twice the time.
  static Claim product(double wave) {
    return {
        .devices = {0}, .wave_seconds = wave, .slowdown = [](double share) { return 1.5 / share; }};
  }
  static Claim collective() { return {.devices = {0, 1}, .sms = 0.25}; }
  static Claim mover(double memory) { return {.devices = {0}, .memory = memory}; }

  OperationPtr add(Claim claim, double start, double seconds, double lead = 0) {
    Work work{.name = "work", .lead_seconds = lead};
    work.claim = std::make_shared<const Claim>(std::move(claim));
    work.carry_out = [seconds] { return seconds; };
    return timeline_.add(std::move(work), ++streams_, start, {});
  }
  void run() {
    while (timeline_.step(std::numeric_limits<double>::infinity())) {
    }
    EXPECT_TRUE(timeline_.idle());
  }

  Timeline timeline_{false};
  int streams_ = 0;
};

TEST_F(ContentionTest, AloneItTakesWhatItTakesAlone) {
  const OperationPtr one = add(product(1), 3, 10);
  const OperationPtr later = add(collective(), 20, 5);
  run();
  EXPECT_DOUBLE_EQ(one->end, 13);
  EXPECT_DOUBLE_EQ(later->end, 25);
}

TEST_F(ContentionTest, ACollectiveWaitsForTheWaveAndThenSlowsTheProduct) {
  const OperationPtr slowed = add(product(4), 0, 12);
  const OperationPtr sent = add(collective(), 1, 6);
  run();
  EXPECT_DOUBLE_EQ(sent->end, 4 + 6);          // the first wave ends at 4
  EXPECT_DOUBLE_EQ(slowed->end, 10 + 12 - 7);  // of 12, 4 + 6 / 2 are done by then
}

TEST_F(ContentionTest, TwoCollectivesTakeTheirShareOfTheSmsEach) {
  const OperationPtr slowed = add(product(1), 0, 12);
  add(collective(), 0.5, 4);
  add(collective(), 0.5, 4);
  run();
  EXPECT_NEAR(slowed->end, 5 + 12 - (1 + 4 / 3.0), 1e-12);  // half of them left: a third as fast
}

TEST_F(ContentionTest, AProductThatEndsSoonerIsAllThatACollectiveWaitsFor) {
  const OperationPtr slowed = add(product(4), 0, 4);
  const OperationPtr sent = add(collective(), 1, 6);
  run();
  EXPECT_DOUBLE_EQ(slowed->end, 4);
  EXPECT_DOUBLE_EQ(sent->end, 10);
}

TEST_F(ContentionTest, MemoryIsSharedInProportion) {
  const OperationPtr most = add(mover(1), 0, 10);
  const OperationPtr some = add(mover(0.25), 0, 4);
  const OperationPtr elsewhere = add({.devices = {1}, .memory = 1}, 0, 10);
  run();
  EXPECT_DOUBLE_EQ(some->end, 4 * 1.25);
  EXPECT_DOUBLE_EQ(most->end, 5 + (10 - 5 / 1.25));
  EXPECT_DOUBLE_EQ(elsewhere->end, 10);
}

TEST_F(ContentionTest, WhatComesAfterWaitsForTheEndThatItGets) {
  const OperationPtr slowed = add(product(1), 0, 12);
  const OperationPtr sent = add(collective(), 0.5, 4);
  const OperationPtr after = timeline_.add({.name = "after"}, 9, 0, {slowed});
  run();
  EXPECT_DOUBLE_EQ(sent->end, 5);
  EXPECT_DOUBLE_EQ(slowed->end, 12 + 2);
  EXPECT_DOUBLE_EQ(after->start, slowed->end);
}

TEST_F(ContentionTest, DuringItsLeadAProductNeitherSlowsNorIsSlowed) {
  const OperationPtr one = add(product(1), 0, 12, 2);
  const OperationPtr sent = add(collective(), 10.5, 4);
  const OperationPtr after = timeline_.add({.name = "after"}, 3, 0, {one});
  run();
  EXPECT_DOUBLE_EQ(one->end, 12);
  EXPECT_DOUBLE_EQ(sent->end, 14.5);
  EXPECT_DOUBLE_EQ(after->start, 10);
}

TEST_F(ContentionTest, ALeadIsAsLongBehindASlowedProduct) {
  const OperationPtr slowed = add(product(1), 0, 14, 2);
  add(collective(), 0.5, 4);
  const OperationPtr after = timeline_.add({.name = "after"}, 3, 0, {slowed});
  run();
  EXPECT_DOUBLE_EQ(after->start, 12 + 2);
  EXPECT_DOUBLE_EQ(slowed->end, 12 + 2 + 2);
}

}  // namespace
}  // namespace gpubench::model
