#include "harness/evidence/evidence.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/evidence/nvml.hpp"
#include "tests/harness/fake_nvml.hpp"

namespace gpubench {
namespace {

// ---- What the driver's library says -------------------------------------------------------------

// Keeps the fake library loaded, so that its state outlives the code under test.
class FakeLibrary {
 public:
  explicit FakeLibrary(const char* path) : path_(path), handle_(dlopen(path, RTLD_NOW)) {
    if (handle_) state_ = static_cast<FakeNvml*>(dlsym(handle_, "fake_nvml_state"));
    if (state_) *state_ = FakeNvml{};
  }
  ~FakeLibrary() {
    if (handle_) dlclose(handle_);
  }
  FakeLibrary(const FakeLibrary&) = delete;
  FakeLibrary& operator=(const FakeLibrary&) = delete;

  FakeNvml* operator->() const { return state_; }
  bool loaded() const { return state_ != nullptr; }

  std::unique_ptr<HealthMonitor> open(const std::string& pci_bus_id = fake_nvml_pci_bus_id) {
    return open_health_monitor(pci_bus_id, &why_absent, path_);
  }

  std::string why_absent;

 private:
  std::string path_;
  void* handle_;
  FakeNvml* state_ = nullptr;
};

class Monitor : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(nvml.loaded()) << FAKE_NVML_PATH;
    ASSERT_TRUE(old_nvml.loaded()) << FAKE_NVML_OLD_PATH;
  }

  FakeLibrary nvml{FAKE_NVML_PATH};
  FakeLibrary old_nvml{FAKE_NVML_OLD_PATH};
};

TEST_F(Monitor, GivesSiUnits) {
  const auto monitor = nvml.open();
  ASSERT_TRUE(monitor) << nvml.why_absent;
  const HealthSample sample = monitor->sample();
  EXPECT_DOUBLE_EQ(sample.sm_clock_hz.value(), 1.755e9);
  EXPECT_DOUBLE_EQ(sample.power_w.value(), 412.345);
  EXPECT_DOUBLE_EQ(sample.temperature_c.value(), 61);
  EXPECT_EQ(sample.reasons.value(), clock_reason::software_power_cap);
  EXPECT_DOUBLE_EQ(monitor->energy_joules().value(), 7'654'321.098);
  EXPECT_DOUBLE_EQ(monitor->max_sm_clock_hz().value(), 1.98e9);
  EXPECT_EQ(monitor->driver_version().value(), "580.65.06");
  EXPECT_EQ(nvml.why_absent, "");
}

TEST_F(Monitor, TellsHowTheDeviceIsSetUp) {
  const auto monitor = nvml.open();
  ASSERT_TRUE(monitor) << nvml.why_absent;
  const DeviceState state = monitor->state();
  EXPECT_EQ(state.uuid, "GPU-5ca1ab1e");
  EXPECT_EQ(state.ecc, true) << "as it is now, not as it will be";
  EXPECT_EQ(state.pcie_width, 8u);
  EXPECT_EQ(state.pcie_width_max, 16u);
  EXPECT_EQ(state.power_limit_w, 500);
  EXPECT_EQ(state.processes, 2u);
  EXPECT_FALSE(state.vbios) << "this library does not know";
  nvml->state_status = fake_nvml_no_permission;
  EXPECT_FALSE(monitor->state().ecc);
  EXPECT_FALSE(monitor->state().uuid);
}

TEST_F(Monitor, EverySampleAsksAnew) {
  const auto monitor = nvml.open();
  ASSERT_TRUE(monitor) << nvml.why_absent;
  monitor->sample();
  nvml->sm_clock_mhz = 345;
  nvml->reasons = 1ULL << 40;
  EXPECT_DOUBLE_EQ(monitor->sample().sm_clock_hz.value(), 345e6);
  EXPECT_EQ(monitor->sample().reasons.value(), std::uint64_t{1} << 40);
}

TEST_F(Monitor, WhatTheDriverRefusesIsAbsentNotZero) {
  const auto monitor = nvml.open();
  ASSERT_TRUE(monitor) << nvml.why_absent;

  nvml->power_status = fake_nvml_not_supported;
  nvml->reasons_status = fake_nvml_no_permission;
  HealthSample sample = monitor->sample();
  EXPECT_FALSE(sample.power_w);
  EXPECT_FALSE(sample.reasons);
  EXPECT_TRUE(sample.sm_clock_hz);
  EXPECT_TRUE(sample.temperature_c);

  nvml->clock_status = fake_nvml_no_permission;
  nvml->temperature_status = fake_nvml_not_supported;
  nvml->max_clock_status = fake_nvml_not_supported;
  nvml->driver_version_status = fake_nvml_no_permission;
  nvml->energy_status = fake_nvml_not_supported;
  sample = monitor->sample();
  EXPECT_FALSE(sample.sm_clock_hz);
  EXPECT_FALSE(sample.temperature_c);
  EXPECT_FALSE(monitor->max_sm_clock_hz());
  EXPECT_FALSE(monitor->driver_version());
  EXPECT_FALSE(monitor->energy_joules());
}

TEST_F(Monitor, TwoGpusAreConnectedAsTheDriverSays) {
  std::string why_absent;
  const auto library = Nvml::load(FAKE_NVML_PATH, &why_absent);
  ASSERT_TRUE(library) << why_absent;
  const auto gpu = library->device(fake_nvml_pci_bus_id, &why_absent);
  ASSERT_TRUE(gpu) << why_absent;
  EXPECT_EQ(library->connection(*gpu, *gpu).value(), "PCIe (host bridge)");
  nvml->common_ancestor = 10;
  EXPECT_EQ(library->connection(*gpu, *gpu).value(), "PCIe (one switch)");
  nvml->nvlink_status = 0;
  EXPECT_EQ(library->connection(*gpu, *gpu).value(), "NVLink");
  nvml->nvlink_status = 5;
  nvml->common_ancestor = 35;
  EXPECT_FALSE(library->connection(*gpu, *gpu)) << "a level that nobody has heard of";
  nvml->common_ancestor = 10;
  nvml->topology_status = fake_nvml_not_supported;
  EXPECT_FALSE(library->connection(*gpu, *gpu));
}

TEST_F(Monitor, AnOldDriverKnowsTheReasonsByTheirFirstNameAndLacksTheRest) {
  const auto monitor = old_nvml.open();
  ASSERT_TRUE(monitor) << old_nvml.why_absent;
  old_nvml->reasons = clock_reason::power_brake;
  const HealthSample sample = monitor->sample();
  EXPECT_EQ(sample.reasons.value(), clock_reason::power_brake);
  EXPECT_TRUE(sample.sm_clock_hz);
  EXPECT_FALSE(sample.power_w);
  EXPECT_FALSE(monitor->max_sm_clock_hz());
  EXPECT_FALSE(monitor->energy_joules());
}

TEST_F(Monitor, ShutsDownWhatItStarted) {
  {
    const auto monitor = nvml.open();
    ASSERT_TRUE(monitor) << nvml.why_absent;
    EXPECT_EQ(nvml->started, 1);
  }
  EXPECT_EQ(nvml->started, 0);
  EXPECT_EQ(nvml->shutdowns, 1);
}

TEST_F(Monitor, NamesTheDriverThatDoesNotStart) {
  nvml->init_status = fake_nvml_driver_not_loaded;
  EXPECT_FALSE(nvml.open());
  EXPECT_EQ(nvml.why_absent, "nvmlInit_v2: Driver Not Loaded (error 9)");
  EXPECT_EQ(nvml->shutdowns, 0) << "what did not start is not shut down";
}

TEST_F(Monitor, AnErrorWithoutWordsIsANumber) {
  nvml->init_status = 999;
  EXPECT_FALSE(nvml.open());
  EXPECT_EQ(nvml.why_absent, "nvmlInit_v2: error 999");
}

TEST_F(Monitor, NamesTheGpuThatIsNotThere) {
  EXPECT_FALSE(nvml.open("0000:ff:00.0"));
  EXPECT_EQ(nvml.why_absent,
            "no GPU at 0000:ff:00.0: nvmlDeviceGetHandleByPciBusId_v2: Not Found (error 6)");
  EXPECT_EQ(nvml->started, 0);
}

TEST(MonitorAbsent, NamesTheLibraryThatIsNotThere) {
  std::string why;
  EXPECT_FALSE(open_health_monitor(fake_nvml_pci_bus_id, &why, "libno-such-nvml.so.1"));
  EXPECT_EQ(why.rfind("cannot load NVML: libno-such-nvml.so.1: ", 0), 0u) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
}

TEST(MonitorAbsent, NamesTheSymbolThatALibraryLacks) {
  std::string why;
  EXPECT_FALSE(open_health_monitor(fake_nvml_pci_bus_id, &why, "libm.so.6"));
  EXPECT_EQ(why, "libm.so.6 has no nvmlInit_v2");
}

TEST(MonitorAbsent, NobodyNeedsTheReason) {
  EXPECT_FALSE(open_health_monitor(fake_nvml_pci_bus_id, nullptr, "libno-such-nvml.so.1"));
}

// ---- What the samples mean ----------------------------------------------------------------------

HealthSample with_reasons(std::uint64_t reasons) {
  HealthSample sample;
  sample.reasons = reasons;
  return sample;
}

TEST(Judge, MedianClockAndPowerMaximumTemperature) {
  const std::vector<HealthSample> samples{
      {1.9e9, 300, 60, 0}, {1.2e9, 700, 71, 0}, {1.8e9, 400, 65, 0}};
  const Health health = judge(samples);
  EXPECT_EQ(health.sm_clock_hz.value(), 1.8e9);
  EXPECT_EQ(health.power_w.value(), 400);
  EXPECT_EQ(health.temperature_c.value(), 71);
  EXPECT_FALSE(health.throttled.value());
  EXPECT_FALSE(health.power_limited.value());
  EXPECT_EQ(health.words, "");
}

TEST(Judge, OnlyWhatWasReadCounts) {
  const std::vector<HealthSample> samples{{1.9e9, {}, {}, {}}, {{}, 300, {}, {}}, {}};
  const Health health = judge(samples);
  EXPECT_EQ(health.sm_clock_hz.value(), 1.9e9);
  EXPECT_EQ(health.power_w.value(), 300);
  EXPECT_FALSE(health.temperature_c);
  EXPECT_FALSE(health.throttled) << "nobody knows";
  EXPECT_FALSE(health.power_limited);
}

TEST(Judge, NothingIsKnownFromNoSamples) {
  const Health health = judge({});
  EXPECT_FALSE(health.sm_clock_hz);
  EXPECT_FALSE(health.power_w);
  EXPECT_FALSE(health.temperature_c);
  EXPECT_FALSE(health.throttled);
  EXPECT_FALSE(health.power_limited);
  EXPECT_EQ(health.words, "");
}

struct ReasonCase {
  std::uint64_t bits;  // as in NVML's manual
  bool throttled;
  bool power_limited;
  std::string words;
};

TEST(Judge, EachReason) {
  const std::vector<ReasonCase> cases{
      {0x1, false, false, ""},
      {0x2, false, false, ""},
      {0x4, false, true, "software power cap in 1 of 2 samples"},
      {0x8, true, false, "hardware slow-down in 1 of 2 samples"},
      {0x10, false, false, "sync boost in 1 of 2 samples"},
      {0x20, true, false, "software thermal slow-down in 1 of 2 samples"},
      {0x40, true, false, "hardware thermal slow-down in 1 of 2 samples"},
      {0x80, true, false, "power brake in 1 of 2 samples"},
      {0x100, false, false, ""},
      {0x200, false, false, "board limit in 1 of 2 samples"},
      {0x400, false, false, "reliability limit in 1 of 2 samples"},
      {0x3000, false, false, "unknown clock reason 0x3000 in 1 of 2 samples"},
  };
  for (const ReasonCase& expected : cases) {
    SCOPED_TRACE(expected.bits);
    // The third sample knows no reasons, and is not counted among those that do.
    const std::vector<HealthSample> samples{with_reasons(0), with_reasons(expected.bits), {}};
    const Health health = judge(samples);
    EXPECT_EQ(health.throttled.value(), expected.throttled);
    EXPECT_EQ(health.power_limited.value(), expected.power_limited);
    EXPECT_EQ(health.words, expected.words);
    EXPECT_EQ(invalidates(expected.bits), expected.throttled);
  }
}

TEST(Judge, ReasonsAddUp) {
  const std::vector<HealthSample> samples{with_reasons(0x4), with_reasons(0x4 | 0x1),
                                          with_reasons(0x8 | 0x40), with_reasons(0)};
  const Health health = judge(samples);
  EXPECT_TRUE(health.throttled.value());
  EXPECT_TRUE(health.power_limited.value());
  EXPECT_EQ(health.words,
            "software power cap in 2 of 4 samples, hardware slow-down in 1 of 4 samples, "
            "hardware thermal slow-down in 1 of 4 samples");
}

// ---- Warm-up ------------------------------------------------------------------------------------

// Readings 50 ms apart, in MHz.
std::vector<ClockReading> readings(const std::vector<double>& megahertz, double step = 0.05) {
  std::vector<ClockReading> result;
  for (const double value : megahertz) {
    result.push_back({static_cast<double>(result.size()) * step, value * 1e6});
  }
  return result;
}

TEST(ClockRamp, FiveEqualReadingsAreStable) {
  EXPECT_EQ(clock_ramp({}), ClockRamp::rising);
  EXPECT_EQ(clock_ramp(readings({1980, 1980, 1980, 1980})), ClockRamp::rising);
  EXPECT_EQ(clock_ramp(readings({1980, 1980, 1980, 1980, 1980})), ClockRamp::stable);
}

TEST(ClockRamp, FiveReadingsAfterTheLastRiseAreStable) {
  EXPECT_EQ(clock_ramp(readings({345, 900, 1980, 1980, 1980, 1980, 1980})), ClockRamp::rising);
  EXPECT_EQ(clock_ramp(readings({345, 900, 1980, 1980, 1980, 1980, 1980, 1980})),
            ClockRamp::stable);
}

TEST(ClockRamp, ASlowRiseWithinTheToleranceIsStillARise) {
  EXPECT_EQ(clock_ramp(readings({1980, 1981, 1982, 1983, 1984, 1985})), ClockRamp::rising);
}

TEST(ClockRamp, JitterBelowAnEarlierReadingIsStable) {
  EXPECT_EQ(clock_ramp(readings({1980, 1979, 1980, 1978, 1980, 1979})), ClockRamp::stable);
}

TEST(ClockRamp, JitterBeyondHalfAPercentIsNot) {
  EXPECT_EQ(clock_ramp(readings({1980, 1971, 1980, 1971, 1980, 1971})), ClockRamp::stable);
  EXPECT_EQ(clock_ramp(readings({1980, 1969, 1980, 1969, 1980, 1969})), ClockRamp::rising);
}

TEST(ClockRamp, AClockThatFellIsStableOnceItSettled) {
  EXPECT_EQ(clock_ramp(readings({1980, 1980, 1755, 1755, 1755, 1755})), ClockRamp::rising);
  EXPECT_EQ(clock_ramp(readings({1980, 1980, 1755, 1755, 1755, 1755, 1755})), ClockRamp::stable);
}

TEST(ClockRamp, FastPollingMustStillSpanTheWindow) {
  const std::vector<double> idle(10, 345);
  EXPECT_EQ(clock_ramp(readings(idle, 0.001)), ClockRamp::rising);
  EXPECT_EQ(clock_ramp(readings(std::vector<double>(110, 345), 0.001)), ClockRamp::stable);
}

TEST(ClockRamp, TimeIsUpAfterThreeSeconds) {
  std::vector<double> climbing;
  while (climbing.size() < 60) climbing.push_back(climbing.empty() ? 1000 : climbing.back() + 10);
  EXPECT_EQ(clock_ramp(readings(climbing)), ClockRamp::rising);  // 2.95 s
  climbing.push_back(1980);
  climbing.push_back(1990);
  EXPECT_EQ(clock_ramp(readings(climbing)), ClockRamp::time_up);
}

TEST(ClockRamp, SettingsAreHeeded) {
  const auto rising = readings({1000, 1001, 1002});
  EXPECT_EQ(clock_ramp(rising, {.limit_seconds = 0.1}), ClockRamp::time_up);
  const auto steady = readings({1000, 1000, 1000});
  EXPECT_EQ(clock_ramp(steady, {.readings = 3}), ClockRamp::stable);
  EXPECT_EQ(clock_ramp(readings({1000, 900, 1000}), {.readings = 3, .tolerance = 0.2}),
            ClockRamp::stable);
}

}  // namespace
}  // namespace gpubench
