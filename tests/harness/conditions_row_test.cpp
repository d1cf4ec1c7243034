// A row of the program on a model device under timing conditions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "harness/bench/bench.hpp"

namespace gpubench {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;

constexpr std::size_t row_words = 256;

struct Ones {
  float operator()(std::size_t) const { return 1; }
};

[[maybe_unused]] __global__ void nothing() {}

void copy_and_kernel(Bench& bench) {
  const auto on_device = bench.output<float>(row_words);
  const PinnedBuffer<float> from(row_words);
  for (float& value : from.span()) value = 1;
  bench.verify(on_device, Ones{});
  bench.work({.items = 1});
  bench.run([&](cudaStream_t s) {
    CUDA_CHECK(
        cudaMemcpyAsync(on_device.data(), from.data(), from.bytes(), cudaMemcpyHostToDevice, s));
    launch(nothing, 1, 32, 0, s);
  });
}

Row row_under(const std::string& conditions) {
  const std::string folder = GPUBENCH_SOURCE_DIR "/tests/data/conditions/";
  const auto platform = open_platform("h200-sxm", conditions.empty() ? "" : folder + conditions);
  const BenchSettings settings;
  return run_row({.name = "test/row",
                  .topic = "test",
                  .kernel = "row",
                  .arguments = {},
                  .function = copy_and_kernel},
                 *platform, settings);
}

TEST(RowUnderConditions, ItsClockIsThatOfItsSamplesNotTheMeanWithTheIdleOne) {
  const Row row = row_under("timing-idle-ramp.json");
  ASSERT_EQ(row.outcome, Outcome::measured) << row.reason;
  EXPECT_NEAR(row.counters.at("sm_clock_hz"), 1.98e9, 0.01e9);
  EXPECT_EQ(row.counters.at("throttled"), 0);
}

TEST(RowUnderConditions, SaysWhatItTookAndWhatWasThrownAway) {
  const Row row = row_under("timing-tick-500ns.json");
  ASSERT_EQ(row.outcome, Outcome::measured) << row.reason;
  EXPECT_EQ(row.counters.at("gate_timeouts"), 0);
  EXPECT_EQ(row.counters.at("off_clock"), 0);
  EXPECT_EQ(row.counters.at("paused_seconds"), 0);
  EXPECT_GT(row.counters.at("device_seconds"), 0.04);
  EXPECT_GT(row.counters.at("cpu_seconds"), 0);
  EXPECT_NEAR(row.counters.at("event_tick_seconds"), 0.5e-6, 1e-9);
  EXPECT_LT(row.counters.at("ci_low_seconds"), row.median_seconds);
  EXPECT_GT(row.counters.at("ci_high_seconds"), row.median_seconds);
}

TEST(RowUnderConditions, WithoutAnyARowIsAsEver) {
  const Row row = row_under("");
  ASSERT_EQ(row.outcome, Outcome::measured) << row.reason;
  EXPECT_EQ(row.samples.size(), 10U);
  for (const char* key : {"sm_clock_hz", "device_seconds", "gate_timeouts", "cpu_seconds"}) {
    EXPECT_THAT(row.counters, Not(Contains(Key(key))));
  }
}

}  // namespace
}  // namespace gpubench
