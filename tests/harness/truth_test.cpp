// How wrong the timer is where the truth is known: a telling part of docs/measurement-truth.md's
// table.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/truth/trials.hpp"

namespace gpubench::model::truth {
namespace {

constexpr std::size_t few_rows = 12;
constexpr std::size_t rows_of_the_page = 200;  // for what is near its limit

TimingConditions conditions(const std::string& name) {
  return load_conditions(GPUBENCH_SOURCE_DIR "/tests/data/conditions/timing-" + name + ".json")
      .timing;
}

class Truth : public testing::Test {
 protected:
  Score score(const std::string& name, double kernel_seconds, std::size_t rows = few_rows) {
    const Score score = try_gpubench(device_, conditions(name), kernel_seconds, rows, Mode::cold);
    covered_ += score.coverage;
    ++cells_;
    return score;
  }
  const DeviceSpec device_ = device_spec("h200-sxm");
  double covered_ = 0;
  int cells_ = 0;
};

TEST_F(Truth, IsMetUnderEveryKindOfCondition) {
  for (const char* name : {"ideal", "idle-ramp", "power-cap", "steps", "tick-32ns", "tick-500ns",
                           "tick-1us", "tenant", "heavy-tail", "drift", "process", "host", "all"}) {
    const bool is_near = name == std::string("drift");
    const Score found = score(name, 1e-3, is_near ? rows_of_the_page : few_rows);
    EXPECT_LE(std::abs(found.bias), 0.005) << name;
    EXPECT_LE(found.device_seconds, 0.5) << name << ": nvbench's least";
  }
  EXPECT_GE(covered_ / cells_, 0.93);
}

TEST_F(Truth, IsMetByShortKernelsBetweenTicks) {
  for (const char* name : {"tick-1us", "heavy-tail"}) {
    EXPECT_LE(std::abs(score(name, 5e-6).bias), 0.005) << name;
  }
  EXPECT_GE(covered_ / cells_, 0.93);
}

// The other rules' weak spots, so that a comparison that flatters everybody would be noticed.
TEST_F(Truth, PublishedRulesMissTenantsAndPowerCaps) {
  const auto off = [&](const std::string& name, std::size_t rule) {
    return try_rules(device_, conditions(name), 1e-3, 4)[rule];
  };
  EXPECT_EQ(off("tenant", 1).rule, "nvbench, stdrel");
  EXPECT_GT(off("tenant", 1).bias, 0.05) << "a mean has the tenant in it";
  EXPECT_GT(off("power-cap", 1).bias, 0.05) << "85 % of the clock is above its 75 %";
  EXPECT_GT(off("idle-ramp", 4).bias, 0.05) << "a hundred runs are over before the clock is up";
}

}  // namespace
}  // namespace gpubench::model::truth
