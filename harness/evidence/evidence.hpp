// Evidence that a GPU ran as it should while a row was measured: clock, power, temperature, and the
// driver's reasons for not running at full clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace gpubench {

// The driver's state at one moment. What it does not tell is absent.
struct HealthSample {
  std::optional<double> sm_clock_hz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<std::uint64_t> reasons;  // mask of clock_reason
};

// The bits of NVML's clock-event reasons ("NVML API Reference Guide", NvmlClocksEventReasons).
namespace clock_reason {
inline constexpr std::uint64_t idle = 0x1;
inline constexpr std::uint64_t application_clocks = 0x2;
inline constexpr std::uint64_t software_power_cap = 0x4;
// Also seen, without the two hardware bits below, while the driver changes the performance state.
inline constexpr std::uint64_t hardware_slowdown = 0x8;
inline constexpr std::uint64_t sync_boost = 0x10;
inline constexpr std::uint64_t software_thermal = 0x20;
inline constexpr std::uint64_t hardware_thermal = 0x40;
inline constexpr std::uint64_t power_brake = 0x80;
inline constexpr std::uint64_t display_clocks = 0x100;
inline constexpr std::uint64_t board_limit = 0x200;
inline constexpr std::uint64_t reliability = 0x400;
}  // namespace clock_reason

// What kind of device this is, and how it is set up: what does not change while a run lasts. What
// the driver does not tell is absent.
struct DeviceState {
  std::optional<std::string> uuid, vbios;
  std::optional<bool> ecc, mig;
  std::optional<unsigned> pcie_generation, pcie_generation_max, pcie_width, pcie_width_max;
  std::optional<double> power_limit_w, power_limit_default_w;
  std::optional<unsigned> processes;  // that compute on it, this one included
};

class HealthMonitor {
 public:
  virtual ~HealthMonitor() = default;
  virtual HealthSample sample() = 0;
  // What the board has taken since its driver was loaded [J], as of the counter's last step.
  virtual std::optional<double> energy_joules() const { return std::nullopt; }
  virtual std::optional<double> max_sm_clock_hz() const { return std::nullopt; }
  virtual std::optional<std::string> driver_version() const { return std::nullopt; }
  virtual DeviceState state() const { return {}; }
};

// Watches a GPU through NVML. nullptr when that is not possible; `why_absent`, unless null, then
// gets one line. `pci_bus_id` as cudaDeviceGetPCIBusId writes it: "0000:1b:00.0".
std::unique_ptr<HealthMonitor> open_health_monitor(
    const std::string& pci_bus_id, std::string* why_absent = nullptr,
    const std::string& library = "libnvidia-ml.so.1");

// A figure is absent when no sample carries it.
struct Health {
  std::optional<double> sm_clock_hz;    // median
  std::optional<double> power_w;        // median
  std::optional<double> temperature_c;  // maximum
  std::optional<bool> throttled;        // some sample was: the row is not valid
  std::optional<bool> power_limited;  // some sample ran under the software power cap: valid, marked
  std::string words;                  // "software power cap in 3 of 12 samples"; empty: all is well
};

// Whether a measurement made under these reasons is to be thrown away: a slow-down by the hardware,
// a thermal one by hardware or software, or the power brake.
bool invalidates(std::uint64_t reasons);

// The reasons in words, as "software power cap, sync boost"; those that cost nothing are left out.
std::string words_of(std::uint64_t reasons);

Health judge(std::span<const HealthSample> samples);

struct ClockReading {
  double seconds = 0;  // since any origin, not decreasing
  double hz = 0;
};

struct RampSettings {
  std::size_t readings = 5;
  // What the readings must span too, so that polling fast does not see one value of the driver five
  // times and call it stable.
  double window_seconds = 0.1;
  double tolerance = 0.005;  // of the highest reading in the window
  double limit_seconds = 3;
};

enum class ClockRamp { rising, stable, time_up };

// Whether a warm-up may end, given all its clock readings in order, taken while the GPU works.
// Stable: the last readings lie within the tolerance and none is higher than every reading before
// it. A clock that fell and settled is stable as well.
ClockRamp clock_ramp(std::span<const ClockReading> readings, const RampSettings& settings = {});

}  // namespace gpubench
