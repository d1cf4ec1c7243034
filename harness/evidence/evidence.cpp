#include "harness/evidence/evidence.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>
#include <utility>
#include <vector>

#include "harness/evidence/nvml.hpp"
#include "harness/statistics/statistics.hpp"

namespace gpubench {
namespace {

enum class Effect { harmless, mentioned, limits_power, invalidates };

struct Reason {
  std::uint64_t bit;
  const char* name;
  Effect effect;
};

constexpr std::array kReasons{
    Reason{clock_reason::idle, "idle", Effect::harmless},
    Reason{clock_reason::application_clocks, "application clocks setting", Effect::harmless},
    Reason{clock_reason::software_power_cap, "software power cap", Effect::limits_power},
    Reason{clock_reason::hardware_slowdown, "hardware slow-down", Effect::invalidates},
    Reason{clock_reason::sync_boost, "sync boost", Effect::mentioned},
    Reason{clock_reason::software_thermal, "software thermal slow-down", Effect::invalidates},
    Reason{clock_reason::hardware_thermal, "hardware thermal slow-down", Effect::invalidates},
    Reason{clock_reason::power_brake, "power brake", Effect::invalidates},
    Reason{clock_reason::display_clocks, "display clocks setting", Effect::harmless},
    Reason{clock_reason::board_limit, "board limit", Effect::mentioned},
    Reason{clock_reason::reliability, "reliability limit", Effect::mentioned},
};

constexpr std::uint64_t mask_of(Effect effect) {
  std::uint64_t mask = 0;
  for (const Reason& reason : kReasons) {
    if (reason.effect == effect) mask |= reason.bit;
  }
  return mask;
}

constexpr std::uint64_t known_bits() {
  std::uint64_t mask = 0;
  for (const Reason& reason : kReasons) mask |= reason.bit;
  return mask;
}

std::vector<double> values(std::span<const HealthSample> samples,
                           std::optional<double> HealthSample::*field) {
  std::vector<double> result;
  for (const HealthSample& sample : samples) {
    if (sample.*field) result.push_back(*(sample.*field));
  }
  return result;
}

std::string describe(const std::vector<std::uint64_t>& masks) {
  std::ostringstream words;
  const auto mention = [&](std::uint64_t bits, const std::string& name) {
    const auto count = std::count_if(masks.begin(), masks.end(),
                                     [&](std::uint64_t mask) { return (mask & bits) != 0; });
    if (count == 0) return;
    if (words.tellp() > 0) words << ", ";
    words << name << " in " << count << " of " << masks.size() << " samples";
  };
  for (const Reason& reason : kReasons) {
    if (reason.effect != Effect::harmless) mention(reason.bit, reason.name);
  }
  // A driver newer than this table may know more reasons: say so rather than hide them.
  std::uint64_t unknown = 0;
  for (const std::uint64_t mask : masks) unknown |= mask & ~known_bits();
  std::ostringstream name;
  name << "unknown clock reason 0x" << std::hex << unknown;
  mention(unknown, name.str());
  return words.str();
}

class NvmlMonitor final : public HealthMonitor {
 public:
  NvmlMonitor(std::unique_ptr<Nvml> nvml, NvmlDevice device)
      : nvml_(std::move(nvml)), device_(device) {}

  HealthSample sample() override {
    return {.sm_clock_hz = nvml_->sm_clock_hz(device_),
            .power_w = nvml_->power_w(device_),
            .temperature_c = nvml_->temperature_c(device_),
            .reasons = nvml_->clocks_event_reasons(device_)};
  }

  std::optional<double> energy_joules() const override { return nvml_->energy_joules(device_); }
  std::optional<double> max_sm_clock_hz() const override { return nvml_->max_sm_clock_hz(device_); }
  std::optional<std::string> driver_version() const override { return nvml_->driver_version(); }
  DeviceState state() const override { return nvml_->state(device_); }

 private:
  std::unique_ptr<Nvml> nvml_;
  NvmlDevice device_;
};

}  // namespace

std::unique_ptr<HealthMonitor> open_health_monitor(const std::string& pci_bus_id,
                                                   std::string* why_absent,
                                                   const std::string& library) {
  auto nvml = Nvml::load(library, why_absent);
  if (!nvml) return nullptr;
  const auto device = nvml->device(pci_bus_id, why_absent);
  if (!device) return nullptr;
  return std::make_unique<NvmlMonitor>(std::move(nvml), *device);
}

std::string words_of(std::uint64_t reasons) {
  std::string words;
  for (const Reason& reason : kReasons) {
    if (reason.effect == Effect::harmless || (reasons & reason.bit) == 0) continue;
    words += (words.empty() ? "" : ", ") + std::string(reason.name);
  }
  return words;
}

bool invalidates(std::uint64_t reasons) { return (reasons & mask_of(Effect::invalidates)) != 0; }

Health judge(std::span<const HealthSample> samples) {
  Health health;
  const auto clocks = values(samples, &HealthSample::sm_clock_hz);
  if (!clocks.empty()) health.sm_clock_hz = median(clocks);
  const auto powers = values(samples, &HealthSample::power_w);
  if (!powers.empty()) health.power_w = median(powers);
  const auto temperatures = values(samples, &HealthSample::temperature_c);
  if (!temperatures.empty()) {
    health.temperature_c = *std::max_element(temperatures.begin(), temperatures.end());
  }

  std::vector<std::uint64_t> masks;
  for (const HealthSample& sample : samples) {
    if (sample.reasons) masks.push_back(*sample.reasons);
  }
  if (!masks.empty()) {
    health.throttled = std::any_of(masks.begin(), masks.end(), invalidates);
    health.power_limited = std::any_of(masks.begin(), masks.end(), [](std::uint64_t mask) {
      return (mask & mask_of(Effect::limits_power)) != 0;
    });
    health.words = describe(masks);
  }
  return health;
}

ClockRamp clock_ramp(std::span<const ClockReading> readings, const RampSettings& settings) {
  if (readings.empty()) return ClockRamp::rising;
  const std::size_t needed = std::max<std::size_t>(1, settings.readings);
  const double now = readings.back().seconds;
  const auto lower = [](const ClockReading& a, const ClockReading& b) { return a.hz < b.hz; };

  // The latest stretch that has both the number of readings and the span asked for.
  std::size_t count = std::min(readings.size(), needed);
  while (count < readings.size() &&
         now - readings[readings.size() - count].seconds < settings.window_seconds) {
    ++count;
  }
  const auto window = readings.last(count);
  const auto before = readings.first(readings.size() - count);
  if (count >= needed && now - window.front().seconds >= settings.window_seconds) {
    const auto [lowest, highest] = std::minmax_element(window.begin(), window.end(), lower);
    const bool within = highest->hz - lowest->hz <= settings.tolerance * highest->hz;
    // The first reading of all has nothing to be higher than.
    const double peak_before = before.empty()
                                   ? window.front().hz
                                   : std::max_element(before.begin(), before.end(), lower)->hz;
    if (within && highest->hz <= peak_before) return ClockRamp::stable;
  }
  return now - readings.front().seconds >= settings.limit_seconds ? ClockRamp::time_up
                                                                  : ClockRamp::rising;
}

}  // namespace gpubench
