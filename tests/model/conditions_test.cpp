// The file behind --conditions: what it says reaches the model, and what it cannot say is refused.
#include "harness/platform/model/conditions/conditions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "harness/system/error.hpp"

namespace gpubench::model {
namespace {

std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::string refusal(const std::string& text) {
  return refusal([&] { parse_conditions(text, "f.json"); });
}

TEST(Conditions, AreThoseOfTheFile) {
  const Conditions conditions = parse_conditions(R"({
    "about": "for people",
    "ordering": {"seed": 9, "hardware_queues": 8, "late_memsets": true,
                 "late_pageable_copies": true, "late_device_copies": true,
                 "host_call_seconds": 2e-6, "hang": {"kernel": "copy", "launch": 3},
                 "fault": {}, "late_bulk_copies": true, "random_blocks": true,
                 "random_warps": true},
    "timing": {}
  })",
                                                 "f.json");
  const Ordering& ordering = conditions.ordering;
  EXPECT_EQ(ordering.seed, 9);
  EXPECT_EQ(ordering.hardware_queues, 8);
  EXPECT_TRUE(ordering.late_memsets && ordering.late_pageable_copies &&
              ordering.late_device_copies && ordering.late_bulk_copies && ordering.random_blocks &&
              ordering.random_warps);
  EXPECT_EQ(ordering.host_call_seconds, 2e-6);
  ASSERT_TRUE(ordering.hang.has_value());
  EXPECT_EQ(ordering.hang->kernel, "copy");
  EXPECT_EQ(ordering.hang->launch, 3);
  ASSERT_TRUE(ordering.fault.has_value());
  EXPECT_EQ(ordering.fault->kernel, "");
  EXPECT_EQ(ordering.fault->launch, 1);
}

TEST(Conditions, LeaveTheModelAsItIsWhereTheySayNothing) {
  const Ordering ordering = parse_conditions("{}", "f.json").ordering;
  EXPECT_FALSE(ordering.late_memsets || ordering.late_pageable_copies ||
               ordering.late_device_copies || ordering.late_bulk_copies || ordering.random_blocks ||
               ordering.random_warps);
  EXPECT_FALSE(ordering.hardware_queues || ordering.hang || ordering.fault);
}

TEST(Conditions, RefuseWhatTheyDoNotKnowInOneLine) {
  EXPECT_EQ(refusal("{"), "f.json: not valid JSON");
  EXPECT_EQ(refusal("[]"), "f.json: must be an object");
  EXPECT_EQ(refusal(R"({"odering": {}})"), "f.json: 'odering' is no key that is known");
  EXPECT_EQ(refusal(R"({"ordering": 1})"), "f.json: 'ordering' must be an object");
  EXPECT_EQ(refusal(R"({"ordering": {"late": true}})"),
            "f.json: 'ordering.late' is no key that is known");
  EXPECT_EQ(refusal(R"({"ordering": {"late_memsets": 1}})"),
            "f.json: 'ordering.late_memsets' must be true or false");
  for (const char* queues : {"0", "33", "-1", "1.5", "\"8\""}) {
    EXPECT_EQ(refusal(R"({"ordering": {"hardware_queues": )" + std::string(queues) + "}}"),
              "f.json: 'ordering.hardware_queues' must be a whole number from 1 to 32");
  }
  EXPECT_THAT(refusal(R"({"ordering": {"host_call_seconds": -1}})"),
              testing::HasSubstr("'ordering.host_call_seconds' must be a number from 0"));
  EXPECT_EQ(refusal(R"({"ordering": {"hang": {"row": ""}}})"),
            "f.json: 'ordering.hang.row' is no key that is known");
}

TEST(Conditions, OfTimingAreRead) {
  EXPECT_FALSE(parse_conditions("{}", "f.json").timing.present);
  const TimingConditions timing =
      parse_conditions(R"({"timing": {"seed": 3, "event_tick_seconds": 5e-7,
                          "clock": {"idle_hz": 3.45e8, "limit_steps": 4},
                          "noise": {"drift_sigma": 0.01}, "tenant": {"period_seconds": 0.007},
                          "host": {"jitter": 0.5}}})",
                       "f.json")
          .timing;
  EXPECT_TRUE(timing.present);
  EXPECT_EQ(timing.seed, 3U);
  EXPECT_EQ(timing.event_tick_seconds, 5e-7);
  EXPECT_EQ(timing.clock.idle_hz, 3.45e8);
  EXPECT_EQ(timing.clock.limit_steps, 4);
  EXPECT_EQ(timing.noise.drift_sigma, 0.01);
  EXPECT_EQ(timing.tenant.period_seconds, 0.007);
  EXPECT_EQ(timing.host.jitter, 0.5);
  EXPECT_EQ(refusal(R"({"timing": {"clock": {"idle": 1}}})"),
            "f.json: 'timing.clock.idle' is no key that is known");
  EXPECT_THAT(refusal(R"({"timing": {"noise": {"sigma": -1}}})"),
              testing::HasSubstr("'timing.noise.sigma' must be a number from 0"));
}

TEST(Conditions, AreNamedAsTheirFile) {
  const auto folder = std::filesystem::path(GPUBENCH_SOURCE_DIR) / "tests" / "data" / "conditions";
  EXPECT_EQ(load_conditions(folder / "kind.json").name, "kind");
  const std::filesystem::path absent = folder / "none.json";
  for (const auto& file : {absent, folder, std::filesystem::path("/dev/zero")}) {
    EXPECT_EQ(refusal([&] { load_conditions(file); }),
              "cannot read conditions from " + file.string());
  }
}

}  // namespace
}  // namespace gpubench::model
