// A row's joules: planted counters, read through NVML's stand-in, in virtual time.
#include "harness/evidence/energy.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/bench/bench.hpp"
#include "harness/program/options.hpp"
#include "harness/program/result_json.hpp"
#include "tests/harness/fake_nvml.hpp"
#include "tests/harness/model_with_health.hpp"

namespace gpubench {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// --- the meter ---

// At a time, what a counter says that takes `watts` and steps so often.
double stepped(double seconds, double watts, double period) {
  return 7e6 + watts * period * std::floor(seconds / period);
}

// Reads a counter every `look` seconds until the meter has seen enough.
EnergyMeter read_all(const std::function<std::optional<double>(double)>& counter,
                     double look = 5e-3, const EnergySettings& settings = {}) {
  EnergyMeter meter(settings);
  for (double now = 0.0123; !meter.has_ended() && now < 100; now += look) {
    meter.read(now, now + 1e-4, counter(now));
  }
  return meter;
}

void expect_power(const EnergyMeter& meter, double watts) {
  ASSERT_TRUE(meter.span()) << meter.why_none();
  const EnergySpan& span = *meter.span();
  EXPECT_LE(span.error, 0.01);
  EXPECT_NEAR(span.joules / span.seconds / watts, 1, span.error);
  EXPECT_GE(span.seconds, 1);
}

TEST(EnergyMeter, StepsOfAnyLengthGiveThePowerWithinTheBound) {
  for (const double period : {1e-3, 0.01, 0.02, 0.0617, 0.1, 0.25, 0.9}) {
    SCOPED_TRACE(period);
    expect_power(read_all([=](double t) { return stepped(t, 423, period); }), 423);
  }
}

TEST(EnergyMeter, TheBoundHoldsWhereverTheStepsFall) {
  for (int shift = 0; shift < 100; ++shift) {
    SCOPED_TRACE(shift);
    expect_power(read_all([=](double t) { return stepped(t + 1e-3 * shift, 700, 0.1); }), 700);
  }
}

TEST(EnergyMeter, WhatComesBeforeSteadyWorkDoesNotCount) {
  // 70 W until the clock has risen, after 0.15 s.
  expect_power(
      read_all([](double t) { return t < 0.15 ? stepped(t, 70, 0.01) : stepped(t, 500, 0.01); }),
      500);
}

TEST(EnergyMeter, RareLooksTakeLongerForTheSameBound) {
  const auto counter = [](double t) { return stepped(t, 300, 0.1); };
  const EnergyMeter often = read_all(counter, 5e-3), rarely = read_all(counter, 0.07);
  expect_power(rarely, 300);
  EXPECT_GT(rarely.span()->seconds, 3 * often.span()->seconds);
  // Two looks of a second each side of 15 s are 7 %: no figure.
  const EnergyMeter never = read_all(counter, 1);
  EXPECT_FALSE(never.span());
  EXPECT_EQ(never.why_none(), "the energy counter's steps do not bound the error");
}

TEST(EnergyMeter, ACounterWithCoarseUnitsTakesLonger) {
  // 1 mW: ten steps of 0.1 mJ show 1 mJ at most.
  EXPECT_FALSE(
      read_all([](double t) { return std::floor(stepped(t, 1e-3, 0.1) * 1e3) / 1e3; }).span());
}

TEST(EnergyMeter, ACounterThatStandsStillHasNoFigure) {
  const EnergyMeter still = read_all([](double) { return 7e6; });
  EXPECT_FALSE(still.span());
  EXPECT_EQ(still.why_none(), "the energy counter stands still");
}

TEST(EnergyMeter, ACounterThatGoesBackwardsHasNoFigure) {
  for (const double to : {0.0, 6.9e6}) {  // the driver was loaded anew, or errs
    const EnergyMeter back =
        read_all([=](double t) { return t < 0.9 ? stepped(t, 300, 0.1) : to + 300 * t; });
    EXPECT_FALSE(back.span());
    EXPECT_EQ(back.why_none(), "the energy counter went backwards");
  }
}

TEST(EnergyMeter, AnErrorInTheMiddleLeavesNoFigure) {
  const EnergyMeter refused = read_all([](double t) -> std::optional<double> {
    if (t > 0.7 && t < 0.71) return std::nullopt;
    return stepped(t, 300, 0.1);
  });
  EXPECT_FALSE(refused.span());
  EXPECT_EQ(refused.why_none(), "the driver refused to read its energy counter");
}

TEST(EnergyMeter, AfterItsEndNothingChanges) {
  EnergyMeter meter = read_all([](double t) { return stepped(t, 300, 0.1); });
  const double joules = meter.span().value().joules;
  meter.read(50, 50, std::nullopt);
  meter.read(51, 51, 0.0);
  EXPECT_EQ(meter.span().value().joules, joules);
  EXPECT_EQ(meter.why_none(), "");
}

// --- a row ---

constexpr double period = 0.1, watts = 450;

// NVML's stand-in on the model's clock: what its counter says goes by `counter`.
class PlantedCounter final : public HealthMonitor {
 public:
  explicit PlantedCounter(const Platform& clock) : clock_(clock) {
    library_ = dlopen(FAKE_NVML_PATH, RTLD_NOW);
    nvml = static_cast<FakeNvml*>(dlsym(library_, "fake_nvml_state"));
    *nvml = {};
    nvml->reasons = 0;
    nvml_ = open_health_monitor(fake_nvml_pci_bus_id, nullptr, FAKE_NVML_PATH);
  }
  ~PlantedCounter() override {
    nvml_.reset();
    dlclose(library_);
  }
  HealthSample sample() override { return nvml_->sample(); }
  DeviceState state() const override { return nvml_->state(); }
  std::optional<double> energy_joules() const override {
    const double now = clock_.host_seconds();
    if (!began) began = now;
    counter(now - *began);
    return nvml_->energy_joules();
  }

  FakeNvml* nvml = nullptr;
  mutable std::optional<double> began;  // when it was first asked
  std::function<void(double seconds)> counter = [this](double seconds) {
    nvml->energy_mj = static_cast<unsigned long long>(1e3 * stepped(seconds, watts, period));
  };

 private:
  const Platform& clock_;
  void* library_;
  std::unique_ptr<HealthMonitor> nvml_;
};

class MeteredPlatform final : public ModelWithHealth {
 public:
  HealthMonitor* health() override { return &monitor; }

  PlantedCounter monitor{*model};
};

// What a run of the row sets, and whether it waits for that.
struct Shape {
  std::size_t bytes = std::size_t{256} << 20;
  bool waits = false;
};

class EnergyOfRow : public testing::Test {
 protected:
  Row run(const Shape& of, Mode mode = Mode::cold) {
    running = this;
    shape = of;
    BenchSettings settings;
    settings.energy = energy;
    settings.mode = mode;
    return run_row({.name = "test/metered",
                    .topic = "test",
                    .kernel = "metered",
                    .arguments = {},
                    .function = [](Bench& bench) { running->metered(bench); }},
                   platform, settings);
  }

  void metered(Bench& bench) {
    const auto out = bench.output<char>(shape.bytes);
    bench.check([](bool) { return std::string(); });
    bench.work({.useful_bytes = static_cast<double>(shape.bytes), .flops = 5e6});
    if (shape.waits) bench.blocks_host();
    bench.run([&](cudaStream_t s) {
      ++calls;
      sets.insert(out.data());
      CUDA_CHECK(cudaMemsetAsync(out.data(), 0, shape.bytes, s));
      if (shape.waits) CUDA_CHECK(cudaStreamSynchronize(s));
    });
    joules = bench.joules();
  }

  void expect_no_joules(const Row& row, const std::string& why) {
    ASSERT_EQ(row.outcome, Outcome::measured) << row.reason;
    EXPECT_THAT(row.notes, Contains("no joules: " + why));
    expect_no_figures(row);
  }
  void expect_no_figures(const Row& row) {
    for (const auto& [name, value] : row.counters) {
      EXPECT_THAT(name, Not(HasSubstr("joules")));
      EXPECT_THAT(name, Not(HasSubstr("energy")));
      EXPECT_NE(name, "average_power_w");
    }
    EXPECT_TRUE(std::isnan(joules));
  }

  inline static EnergyOfRow* running = nullptr;  // for a bench function, which is a plain one
  Shape shape;
  bool energy = true;
  double joules = 0;
  std::set<const void*> sets;
  std::size_t calls = 0;  // of the body
  MeteredPlatform platform;
};

TEST_F(EnergyOfRow, IsItsPowerTimesItsTimeWithinTheBound) {
  for (const Shape& each : {Shape{}, {.waits = true}, {.bytes = std::size_t{1} << 20}}) {
    for (const Mode mode : {Mode::cold, Mode::hot}) {
      SCOPED_TRACE(std::to_string(shape.bytes) + (mode == Mode::hot ? " hot" : " cold"));
      platform.monitor.began.reset();
      platform.monitor.counter(0);
      const Row row = run(each, mode);
      ASSERT_EQ(row.outcome, Outcome::measured) << row.reason;
      ASSERT_TRUE(row.counter("joules")) << testing::PrintToString(row.notes);
      const double error = row.counters.at("joules_error_fraction");
      EXPECT_LE(error, 0.01);
      EXPECT_NEAR(row.counters.at("average_power_w") / watts, 1, error);
      const double seconds = row.counters.at("energy_run_seconds");
      EXPECT_DOUBLE_EQ(joules, row.counters.at("joules"));
      EXPECT_DOUBLE_EQ(joules, row.counters.at("average_power_w") * seconds);
      EXPECT_DOUBLE_EQ(row.counters.at("joules_per_flop"), joules / 5e6);
      EXPECT_DOUBLE_EQ(row.counters.at("joules_per_byte"),
                       joules / static_cast<double>(shape.bytes));
      // Back to back, a run takes no longer, and not much less: launches hide behind others.
      EXPECT_LE(seconds, 1.02 * row.median_seconds);
      EXPECT_GE(seconds, 0.5 * row.median_seconds);
    }
  }
}

TEST_F(EnergyOfRow, IsMeasuredOnlyWhereThatIsAskedFor) {
  energy = false;
  const Row row = run({});
  EXPECT_FALSE(platform.monitor.began) << "nobody asked the counter";
  expect_no_figures(row);
}

TEST_F(EnergyOfRow, ColdRunsCycleThroughAllBuffersAndHotOnesShareThem) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  run({.bytes = bytes}, Mode::cold);
  // The few samples of a model reach a dozen.
  EXPECT_EQ(static_cast<double>(sets.size()), std::ceil(5 * platform.device()["l2_bytes"] / bytes));
  sets.clear();
  run({.bytes = bytes}, Mode::hot);
  EXPECT_EQ(sets.size(), 1U);
}

TEST_F(EnergyOfRow, ShortRunsAreLaunchedAsGraphs) {
  const Row row = run({.bytes = std::size_t{1} << 20}, Mode::hot);
  const double seconds = row.counters.at("energy_run_seconds");
  EXPECT_LT(static_cast<double>(calls) * seconds, 0.5) << "more than a second of runs was measured";
}

TEST_F(EnergyOfRow, WithoutACounterTheRunSaysSoAndNoRow) {
  Options options;
  const auto caveats = [&] { return caveats_of_run(options, platform); };
  const auto no_counter = HasSubstr("rows have no joules: the driver has no energy counter");
  options.bench.energy = true;
  EXPECT_THAT(caveats(), Not(Contains(no_counter)));
  platform.monitor.nvml->energy_status = fake_nvml_not_supported;
  EXPECT_THAT(caveats(), Contains(no_counter));
  options.bench.energy = false;
  EXPECT_THAT(caveats(), Not(Contains(no_counter)));
  const Row row = run({});
  ASSERT_EQ(row.outcome, Outcome::measured) << row.reason;
  expect_no_figures(row);
  EXPECT_THAT(row.notes, Not(Contains(HasSubstr("joules"))));
}

TEST_F(EnergyOfRow, IsAbsentWhereTheCounterFails) {
  FakeNvml& nvml = *platform.monitor.nvml;
  const auto planted = platform.monitor.counter;
  platform.monitor.counter = [&](double seconds) {
    planted(seconds);
    nvml.energy_status = seconds > 0.8 ? fake_nvml_unknown : fake_nvml_success;
  };
  expect_no_joules(run({}), "the driver refused to read its energy counter");
}

TEST_F(EnergyOfRow, IsAbsentWhereTheDriverWasLoadedAnew) {
  FakeNvml& nvml = *platform.monitor.nvml;
  const auto planted = platform.monitor.counter;
  platform.monitor.counter = [&](double seconds) {
    planted(seconds);
    if (seconds > 0.8) nvml.energy_mj -= 6'000'000'000;
  };
  expect_no_joules(run({}), "the energy counter went backwards");
}

TEST_F(EnergyOfRow, IsAbsentWhereNoBoardCouldTakeIt) {
  FakeNvml& nvml = *platform.monitor.nvml;
  const auto planted = platform.monitor.counter;
  platform.monitor.counter = [&](double seconds) {
    planted(seconds);
    if (seconds > 0.8) nvml.energy_mj += 6'000'000'000;
  };
  expect_no_joules(run({}), "the energy counter says more than the power limit allows");
}

TEST_F(EnergyOfRow, SaysWhatHeldTheDeviceBack) {
  platform.monitor.nvml->reasons = clock_reason::software_power_cap;
  const Row row = run({});
  EXPECT_TRUE(row.counter("joules"));
  EXPECT_THAT(row.notes, Contains("while its energy was measured: software power cap"));
}

}  // namespace
}  // namespace gpubench
