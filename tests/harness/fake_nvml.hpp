// What the fake NVML answers, and what it saw. The test sets this up through the symbol
// `fake_nvml_state` of the library it hands to the code under test.
#pragma once

namespace gpubench {

// Values of nvmlReturn_t.
inline constexpr int fake_nvml_success = 0;
inline constexpr int fake_nvml_uninitialized = 1;
inline constexpr int fake_nvml_invalid_argument = 2;
inline constexpr int fake_nvml_not_supported = 3;
inline constexpr int fake_nvml_no_permission = 4;
inline constexpr int fake_nvml_not_found = 6;
inline constexpr int fake_nvml_driver_not_loaded = 9;

inline constexpr int fake_nvml_unknown = 999;

inline constexpr const char* fake_nvml_pci_bus_id = "0000:1b:00.0";

struct FakeNvml {
  int init_status = fake_nvml_success;
  int clock_status = fake_nvml_success;
  int max_clock_status = fake_nvml_success;
  int power_status = fake_nvml_success;
  int temperature_status = fake_nvml_success;
  int reasons_status = fake_nvml_success;
  int driver_version_status = fake_nvml_success;
  int topology_status = fake_nvml_success;
  int state_status = fake_nvml_success;
  int energy_status = fake_nvml_success;

  unsigned sm_clock_mhz = 1755;
  unsigned max_sm_clock_mhz = 1980;
  unsigned power_mw = 412'345;
  unsigned long long energy_mj = 7'654'321'098;  // more than 32 bits hold
  unsigned temperature_c = 61;
  unsigned long long reasons = 0x4;
  int nvlink_status = 1;     // nvmlGpuP2PStatus_t: not supported by the chip set
  int common_ancestor = 30;  // nvmlGpuTopologyLevel_t: a host bridge

  int failing_call = 0;  // this one, the first is 1, fails with fake_nvml_unknown; 0: none
  int calls = 0;         // so far, of all functions
  const char* pci_bus_id = fake_nvml_pci_bus_id;
  unsigned processes = 2;

  int started = 0;  // successful nvmlInit_v2 less nvmlShutdown
  int shutdowns = 0;
};

}  // namespace gpubench
