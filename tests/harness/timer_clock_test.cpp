// The timer on a device whose clock, events and noise are those of conditions.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "harness/cuda/launch.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/statistics/statistics.hpp"
#include "harness/timing/timer.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench {
namespace {

[[maybe_unused]] __global__ void work() {}

constexpr double full_hz = 1.98e9;

class Driver final : public HealthMonitor {
 public:
  HealthSample sample() override { return model::current_runtime()->health(); }
};

class TimerClockTest : public testing::Test {
 protected:
  TimerClockTest() {
    conditions_.present = true;
    settings_.stop = with_a_clock(settings_.stop);
    settings_.now = [] { return model::current_runtime()->host_seconds(); };
    settings_.rest = [](double seconds) { model::current_runtime()->sleep(seconds); };
    settings_.health = &driver_;
  }
  ~TimerClockTest() override { model::install_runtime(nullptr); }

  Timing time(double kernel_seconds) {
    executor_.seconds = {{model::address(work), kernel_seconds}};
    model::RuntimeOptions options;
    options.conditions.timing = conditions_;
    model::install_runtime(std::make_unique<model::Runtime>(device_, memory_, executor_, options));
    return time_body([](cudaStream_t stream) { launch(work, 1, 32, 0, stream); }, [] {}, settings_);
  }
  static void expect_near(const Timing& timing, double seconds) {
    ASSERT_FALSE(timing.seconds.empty());
    EXPECT_NEAR(median(timing.seconds), seconds, 0.005 * seconds);
    ASSERT_TRUE(timing.interval.has_value());
    EXPECT_LE(timing.interval->low, seconds * (1 + 1e-6));
    EXPECT_GE(timing.interval->high, seconds * (1 - 1e-6));
  }

  const DeviceSpec device_ = device_spec("h200-sxm");
  model::DeviceMemory memory_{std::size_t{1} << 20};
  model::FakeExecutor executor_;
  Driver driver_;
  model::TimingConditions conditions_;
  TimerSettings settings_;
};

TEST_F(TimerClockTest, ASleepingDeviceIsWokenFirst) {
  conditions_.clock.idle_hz = 345e6;
  conditions_.clock.ramp_seconds = 0.2;  // longer than the warm-up
  const Timing timing = time(50e-6);
  expect_near(timing, 50e-6);
  ASSERT_TRUE(timing.sm_clock_hz.has_value());
  EXPECT_NEAR(*timing.sm_clock_hz, full_hz, 0.005 * full_hz);
  for (const HealthSample& sample : timing.health) EXPECT_EQ(sample.sm_clock_hz, full_hz);
  EXPECT_EQ(timing.pauses, 0U) << "rest would only send it back to sleep";
}

TEST_F(TimerClockTest, ADeviceThatIsHeldBackRestsAndIsMeasuredAgain) {
  conditions_.clock.limit_hz = 1.68e9;
  const Timing timing = time(1e-3);
  expect_near(timing, 1e-3);
  EXPECT_GT(timing.pauses, 0U);
  EXPECT_GT(timing.paused_seconds, 0);
  EXPECT_GT(timing.off_clock, 0U);
  EXPECT_GE(timing.discarded, timing.off_clock);
  EXPECT_FALSE(timing.held_back);
}

TEST_F(TimerClockTest, ThermalSlowDownsInStepsAreThrownAwayToo) {
  conditions_.clock.limit_hz = 1.38e9;
  conditions_.clock.limit_load = 0.4;
  conditions_.clock.limit_steps = 4;
  conditions_.clock.limit_is_thermal = true;
  const Timing timing = time(1e-3);
  expect_near(timing, 1e-3);
  for (const HealthSample& sample : timing.health) {
    EXPECT_FALSE(invalidates(sample.reasons.value_or(0)));
  }
}

TEST_F(TimerClockTest, ADeviceThatNeverGetsBackIsMeasuredAsItIsAndSaysSo) {
  conditions_.clock.limit_hz = 1.65e9;
  conditions_.clock.limit_load = 0.01;
  conditions_.clock.load_seconds = 10;
  settings_.known_clock_hz = full_hz;
  const Timing timing = time(1e-3);
  EXPECT_TRUE(timing.held_back);
  EXPECT_NEAR(median(timing.seconds), 1e-3 * full_hz / 1.65e9, 1e-6);
  EXPECT_NEAR(timing.sm_clock_hz.value_or(0), 1.65e9, 1e6);
  EXPECT_LE(timing.paused_seconds, 0.3) << "each row of this load would pay it";
}

TEST_F(TimerClockTest, AClockThatStillFallsIsNotMeasured) {
  conditions_.clock.limit_hz = 1.4e9;
  conditions_.clock.limit_load = 0.01;
  conditions_.clock.limit_steps = 8;
  conditions_.clock.load_seconds = 10;
  settings_.known_clock_hz = full_hz;
  const Timing timing = time(1e-3);
  EXPECT_TRUE(timing.held_back);
  ASSERT_TRUE(timing.interval.has_value());
  EXPECT_LT(timing.interval->high / timing.interval->low, 1.01);
}

TEST_F(TimerClockTest, WhatTheDriverCallsInvalidIsWaitedForAsLongAsThereIsTime) {
  conditions_.clock.limit_hz = 1.65e9;
  conditions_.clock.limit_load = 0.01;
  conditions_.clock.load_seconds = 10;
  conditions_.clock.limit_is_thermal = true;
  settings_.known_clock_hz = full_hz;
  const Timing timing = time(1e-3);
  EXPECT_TRUE(timing.held_back);
  EXPECT_GE(timing.paused_seconds, 3 * settings_.stop.budget_seconds);
  EXPECT_LE(timing.paused_seconds, 3 * settings_.stop.budget_seconds + 0.4) << "it is bounded";
}

TEST_F(TimerClockTest, ATickOfAMicrosecondDoesNotShow) {
  conditions_.event_tick_seconds = 1e-6;
  const Timing timing = time(2.3e-6);
  expect_near(timing, 2.3e-6);
  EXPECT_NEAR(timing.tick_seconds, 1e-6, 1e-9);
  EXPECT_GT(timing.group, 100U);
}

TEST_F(TimerClockTest, FindsTheTickOfFineEventsAndThatOthersHaveNone) {
  conditions_.event_tick_seconds = 32e-9;
  EXPECT_NEAR(time(20e-6).tick_seconds, 32e-9, 1e-12);
  conditions_.event_tick_seconds = 0;
  EXPECT_EQ(time(20e-6).tick_seconds, 0);
}

TEST_F(TimerClockTest, EqualSamplesAreNoCertainty) {
  conditions_.event_tick_seconds = 0.5e-6;
  const Timing timing = time(1e-3 + 0.2e-6);
  ASSERT_TRUE(timing.interval.has_value());
  EXPECT_GE(timing.interval->high - timing.interval->low, 0.5e-6);
  EXPECT_LE(timing.interval->low, 1e-3 + 0.2e-6);
  EXPECT_GE(timing.interval->high, 1e-3 + 0.2e-6);
}

TEST_F(TimerClockTest, ARowConvergesTwiceAndNotBeforeItsDeviceTime) {
  settings_.stop.min_device_seconds = 0;
  settings_.stop.confirmations = 1;
  const std::size_t once = time(1e-3).seconds.size();
  settings_.stop.confirmations = 2;
  EXPECT_GT(time(1e-3).seconds.size(), once);
  settings_.stop.min_device_seconds = 0.05;
  EXPECT_GE(time(1e-3).device_seconds, 0.05);
}

TEST_F(TimerClockTest, HotWindowsAreLongAgainstTheTick) {
  conditions_.event_tick_seconds = 1e-6;
  settings_.mode = Mode::hot;
  const Timing timing = time(20e-6);
  EXPECT_GE(static_cast<double>(timing.batch) * median(timing.seconds), 1e-3);
  EXPECT_LT(timing.resolution_seconds, 0.002 * median(timing.seconds));
}

TEST_F(TimerClockTest, SaysWhatTheHostNeedsToQueueARun) {
  EXPECT_NEAR(time(20e-6).cpu_seconds.value_or(0), device_["launch_host_seconds"], 1e-9);
}

}  // namespace
}  // namespace gpubench
