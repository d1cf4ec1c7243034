// A library with NVML's entry points and no GPU behind them. With FAKE_NVML_OLD it is one of an old
// driver: clock-event reasons under their first name, and neither maximum clock, power nor energy.
#include "tests/harness/fake_nvml.hpp"

#include <cstdio>
#include <cstring>

using gpubench::FakeNvml;

extern "C" {

FakeNvml fake_nvml_state;

static bool fails_now() { return ++fake_nvml_state.calls == fake_nvml_state.failing_call; }

// Stands for a device: whoever asks must hand back what the look-up gave out.
static int the_device;

static int checked(const void* device, int status) {
  if (fake_nvml_state.started <= 0) return gpubench::fake_nvml_uninitialized;
  return device == &the_device ? status : gpubench::fake_nvml_invalid_argument;
}

int nvmlInit_v2() {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  if (fake_nvml_state.init_status == gpubench::fake_nvml_success) ++fake_nvml_state.started;
  return fake_nvml_state.init_status;
}

int nvmlShutdown() {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  ++fake_nvml_state.shutdowns;
  if (fake_nvml_state.started <= 0) return gpubench::fake_nvml_uninitialized;
  --fake_nvml_state.started;
  return gpubench::fake_nvml_success;
}

const char* nvmlErrorString(int status) {
  switch (status) {
    case gpubench::fake_nvml_not_found:
      return "Not Found";
    case gpubench::fake_nvml_driver_not_loaded:
      return "Driver Not Loaded";
    default:
      return nullptr;
  }
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  std::snprintf(version, length, "%s", "580.65.06");
  return fake_nvml_state.driver_version_status;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, void** device) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  if (fake_nvml_state.started <= 0) return gpubench::fake_nvml_uninitialized;
  if (std::strcmp(pci_bus_id, fake_nvml_state.pci_bus_id) != 0) {
    return gpubench::fake_nvml_not_found;
  }
  *device = &the_device;
  return gpubench::fake_nvml_success;
}

int nvmlDeviceGetClockInfo(void* device, int domain, unsigned* megahertz) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  constexpr int sm = 1;
  if (domain != sm) return gpubench::fake_nvml_invalid_argument;
  *megahertz = fake_nvml_state.sm_clock_mhz;
  return checked(device, fake_nvml_state.clock_status);
}

int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  constexpr int gpu_die = 0;
  if (sensor != gpu_die) return gpubench::fake_nvml_invalid_argument;
  *celsius = fake_nvml_state.temperature_c;
  return checked(device, fake_nvml_state.temperature_status);
}

int nvmlDeviceGetP2PStatus(void* device, void* peer, int capability, int* status) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  constexpr int nvlink = 2;
  if (capability != nvlink) return gpubench::fake_nvml_invalid_argument;
  *status = fake_nvml_state.nvlink_status;
  const int mine = checked(device, fake_nvml_state.topology_status);
  return mine != gpubench::fake_nvml_success ? mine : checked(peer, mine);
}

int nvmlDeviceGetTopologyCommonAncestor(void* device, void* peer, int* level) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  *level = fake_nvml_state.common_ancestor;
  const int mine = checked(device, fake_nvml_state.topology_status);
  return mine != gpubench::fake_nvml_success ? mine : checked(peer, mine);
}

#ifdef FAKE_NVML_OLD

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* mask) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  *mask = fake_nvml_state.reasons;
  return checked(device, fake_nvml_state.reasons_status);
}

#else

int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* mask) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  *mask = fake_nvml_state.reasons;
  return checked(device, fake_nvml_state.reasons_status);
}

int nvmlDeviceGetMaxClockInfo(void* device, int domain, unsigned* megahertz) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  constexpr int sm = 1;
  if (domain != sm) return gpubench::fake_nvml_invalid_argument;
  *megahertz = fake_nvml_state.max_sm_clock_mhz;
  return checked(device, fake_nvml_state.max_clock_status);
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  std::snprintf(text, length, "%s", "GPU-5ca1ab1e");
  return checked(device, fake_nvml_state.state_status);
}

int nvmlDeviceGetEccMode(void* device, int* now, int* later) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  *now = 1;
  *later = 0;
  return checked(device, fake_nvml_state.state_status);
}

int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* lanes) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  *lanes = 8;
  return checked(device, fake_nvml_state.state_status);
}

int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* lanes) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  *lanes = 16;
  return checked(device, fake_nvml_state.state_status);
}

int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  *milliwatts = 500'000;
  return checked(device, fake_nvml_state.state_status);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* infos) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  constexpr int insufficient_size = 7;
  const bool has_room = infos != nullptr && *count >= fake_nvml_state.processes;
  *count = fake_nvml_state.processes;
  return checked(device, has_room ? fake_nvml_state.state_status : insufficient_size);
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  *milliwatts = fake_nvml_state.power_mw;
  return checked(device, fake_nvml_state.power_status);
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  if (fails_now()) return gpubench::fake_nvml_unknown;
  *millijoules = fake_nvml_state.energy_mj;
  return checked(device, fake_nvml_state.energy_status);
}

#endif

}  // extern "C"
