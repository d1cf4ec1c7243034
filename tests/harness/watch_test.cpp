// What is made of a program that was watched: planted series, and a GPU with a planted monitor.
#include "harness/evidence/watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/bench/bench.hpp"
#include "tests/harness/model_with_health.hpp"

namespace gpubench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A series of 40 moments; `at(x)` for x from 0 to 1.
std::vector<Moment> series(const std::function<Moment(double)>& at) {
  std::vector<Moment> moments;
  for (int i = 0; i < 40; ++i) {
    moments.push_back(at(i / 39.0));
    moments.back().seconds = 0.1 * (i + 1);
  }
  return moments;
}

Moment moment(double rate, double clock, std::uint64_t reasons = 0) {
  return {0, rate, {.sm_clock_hz = clock, .power_w = 500, .temperature_c = 60, .reasons = reasons}};
}

TEST(Verdict, APaceThatIsKeptIsSteady) {
  const Judgement kept = judge_watch(series([](double) { return moment(1e15, 1.98e9); }));
  EXPECT_EQ(kept.cause, Cause::none);
  EXPECT_EQ(kept.words, "steady");
  // Noise of one per cent, and a clock that wavers by a step of 15 MHz.
  const Judgement noisy = judge_watch(series([](double x) {
    const bool odd = static_cast<int>(39 * x + 0.5) % 2 != 0;
    return moment(odd ? 1.01e15 : 1e15, odd ? 1.98e9 : 1.965e9);
  }));
  EXPECT_EQ(noisy.words, "steady");
}

TEST(Verdict, ASteadyPaceUnderAPowerCapIsHeldBack) {
  const Judgement held = judge_watch(
      series([](double) { return moment(7e14, 1.4e9, clock_reason::software_power_cap); }));
  EXPECT_EQ(held.cause, Cause::none);
  EXPECT_EQ(held.words, "steady, but held back: software power cap in 9 of 9 samples");
}

TEST(Verdict, HeatIsTheSilicons) {
  const Judgement hot = judge_watch(series([](double x) {
    const double share = x < 0.5 ? 1 : 0.9;
    return moment(1e15 * share, 1.98e9 * share, x < 0.5 ? 0 : clock_reason::software_thermal);
  }));
  EXPECT_EQ(hot.cause, Cause::silicon);
  EXPECT_EQ(hot.words,
            "the silicon: throughput fell 10.0 %, the clock 10.0 %: software thermal slow-down in "
            "9 of 9 samples");
}

TEST(Verdict, AClockThatFallsForNoReasonIsStillTheSilicons) {
  const Judgement odd = judge_watch(
      series([](double x) { return moment(1e15 * (1 - 0.1 * x), 1.98e9 * (1 - 0.1 * x)); }));
  EXPECT_EQ(odd.cause, Cause::silicon);
  EXPECT_THAT(odd.words, HasSubstr("the driver gives no reason"));
}

TEST(Verdict, APaceThatFallsAtTheSameClockIsTheCodes) {
  const Judgement code =
      judge_watch(series([](double x) { return moment(1e15 * (1 - 0.1 * x), 1.98e9); }));
  EXPECT_EQ(code.cause, Cause::code);
  EXPECT_THAT(code.words, StartsWith("the code, or who shares the machine with it: "));
  EXPECT_THAT(code.words, HasSubstr("at the same clock"));
}

TEST(Verdict, MoreThanTheClockExplainsIsBoth) {
  const Judgement both = judge_watch(series([](double x) {
    return moment(1e15 * (x < 0.5 ? 1 : 0.7), 1.98e9 * (x < 0.5 ? 1 : 0.95),
                  x < 0.5 ? 0 : clock_reason::software_power_cap);
  }));
  EXPECT_EQ(both.cause, Cause::both);
  EXPECT_THAT(both.words, StartsWith("the silicon, and something else too"));
}

TEST(Verdict, MemoryNeedNotFollowTheClock) {
  const Judgement memory = judge_watch(series([](double x) {
    return moment(4e12, x < 0.5 ? 1.98e9 : 1.6e9, x < 0.5 ? 0 : clock_reason::software_power_cap);
  }));
  EXPECT_EQ(memory.cause, Cause::none);
  EXPECT_THAT(memory.words, StartsWith("the clock fell 19.2 % and throughput did not follow"));
}

TEST(Verdict, TheFirstMomentCountsNowhere) {
  auto moments = series([](double) { return moment(1e15, 1.98e9); });
  moments.front() = moment(3e14, 0.4e9);
  EXPECT_EQ(judge_watch(moments).words, "steady");
}

TEST(Verdict, APaceThatRisesHadNotSettled) {
  const Judgement rising =
      judge_watch(series([](double x) { return moment(1e15 * (1 + 0.1 * x), 1.98e9); }));
  EXPECT_EQ(rising.cause, Cause::none);
  EXPECT_THAT(rising.words, HasSubstr("it had not settled"));
}

TEST(Verdict, WithoutAClockNobodyCanTell) {
  const auto blind = [](double fall) {
    return judge_watch(series([=](double x) { return Moment{0, 1e15 * (1 - fall * x), {}}; }));
  };
  EXPECT_EQ(blind(0.2).cause, Cause::unknown);
  EXPECT_THAT(blind(0.2).words, HasSubstr("nobody tells the clock"));
  EXPECT_EQ(blind(0).cause, Cause::none);
}

TEST(Verdict, AFewMomentsAreTooShortToTell) {
  auto moments = series([](double) { return moment(1e15, 1.98e9); });
  moments.resize(8);
  EXPECT_EQ(judge_watch(moments).cause, Cause::unknown);
  EXPECT_EQ(judge_watch(moments).words, "too short to tell: 8 samples");
  moments.push_back(moment(1e15, 1.98e9));
  EXPECT_EQ(judge_watch(moments).words, "steady");
  EXPECT_EQ(judge_watch({}).cause, Cause::unknown);
}

TEST(WordsOfReasons, NameWhatCostsSomething) {
  EXPECT_EQ(words_of(clock_reason::idle | clock_reason::application_clocks), "");
  EXPECT_EQ(words_of(clock_reason::software_power_cap | clock_reason::hardware_thermal),
            "software power cap, hardware thermal slow-down");
}

// --- the watch itself, in virtual time ---

class PlantedMonitor final : public HealthMonitor {
 public:
  HealthSample sample() override {
    ++samples;
    return {.sm_clock_hz = 1.5e9,
            .power_w = 700,
            .temperature_c = 60,
            .reasons = clock_reason::software_power_cap};
  }
  int samples = 0;
};

class WatchedPlatform final : public ModelWithHealth {
 public:
  HealthMonitor* health() override { return monitor ? &*monitor : nullptr; }

  std::optional<PlantedMonitor> monitor = PlantedMonitor();
};

constexpr std::size_t bytes = std::size_t{8} << 20;

void watched(Bench& bench) {
  const auto out = bench.output<char>(bytes);
  bench.check([](bool) { return std::string(); });
  bench.work({.useful_bytes = bytes});
  const auto body = [&](cudaStream_t s) { CUDA_CHECK(cudaMemsetAsync(out.data(), 0, bytes, s)); };
  bench.run(body);
  bench.watch(body);
}

Row watched_row(Platform& platform, double watch_seconds) {
  BenchSettings settings;
  settings.watch_seconds = watch_seconds;
  return run_row({.name = "test/watched",
                  .topic = "test",
                  .kernel = "watched",
                  .arguments = {},
                  .function = watched},
                 platform, settings);
}

TEST(Watch, LastsAsLongAsAskedAndCountsWhatIsDone) {
  WatchedPlatform platform;
  const Row row = watched_row(platform, 3);
  ASSERT_EQ(row.outcome, Outcome::measured) << row.reason;
  EXPECT_NEAR(static_cast<double>(row.moments.size()), 30, 2) << "a tenth of a second each";
  EXPECT_GE(row.moments.back().seconds, 3);
  EXPECT_LT(row.moments.back().seconds, 3.3);
  for (const Moment& moment : row.moments) {
    // Back to back, so the host's part is hidden: no less than what the row found.
    EXPECT_NEAR(moment.rate, row.counters.at("useful_bytes_per_second"), 0.02 * moment.rate);
    EXPECT_EQ(moment.health.sm_clock_hz, 1.5e9);
  }
  EXPECT_EQ(row.words.at("verdict"), "steady, but held back: software power cap in 7 of 7 samples");
  EXPECT_GE(platform.monitor->samples, static_cast<int>(row.moments.size()));
}

TEST(Watch, TheModelHasNoClockToLose) {
  WatchedPlatform platform;
  platform.monitor.reset();
  const Row row = watched_row(platform, 3);
  ASSERT_EQ(row.outcome, Outcome::measured) << row.reason;
  EXPECT_TRUE(row.moments.empty());
  EXPECT_EQ(row.words.at("verdict"), "none: the model has no clock to lose");
}

}  // namespace
}  // namespace gpubench
