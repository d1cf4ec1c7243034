// The few functions of NVML, NVIDIA's management library, that tell a GPU's state of health.
//
// The library belongs to the driver, so a machine without a GPU has none and the toolkit need not
// have its header: it is loaded at run time, and what it lacks or refuses is absent, never zero.
// Names, values and units are those of the "NVML API Reference Guide".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "harness/evidence/evidence.hpp"

namespace gpubench {

using NvmlDevice = struct OpaqueNvmlDevice*;

class Nvml {
 public:
  // `library`: a file name for the dynamic loader's search path, or a path. nullptr when it cannot
  // be loaded, is not NVML, or does not start; `why_absent`, unless null, then gets one line.
  static std::unique_ptr<Nvml> load(const std::string& library, std::string* why_absent);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // `pci_bus_id`: domain:bus:device.function in hexadecimal, as cudaDeviceGetPCIBusId writes it.
  std::optional<NvmlDevice> device(const std::string& pci_bus_id, std::string* why_absent) const;
  std::optional<std::string> driver_version() const;

  std::optional<double> sm_clock_hz(NvmlDevice device) const;
  std::optional<double> max_sm_clock_hz(NvmlDevice device) const;
  // The whole board's. From Ampere on, GA100 excepted, the driver's average over the last second:
  // a short row reads mostly what went before it.
  std::optional<double> power_w(NvmlDevice device) const;
  // Since the driver was loaded [J], of the whole board; Volta and newer. It steps: nobody
  // documents how often.
  std::optional<double> energy_joules(NvmlDevice device) const;
  std::optional<double> temperature_c(NvmlDevice device) const;  // of the GPU die
  std::optional<std::uint64_t> clocks_event_reasons(NvmlDevice device) const;
  DeviceState state(NvmlDevice device) const;
  // How two GPUs of this machine are connected: "NVLink", or what PCIe traffic between them passes:
  // "PCIe (one board)", "PCIe (one switch)", "PCIe (several switches)", "PCIe (host bridge)", "PCIe
  // (one NUMA node)" or "PCIe (between NUMA nodes)".
  std::optional<std::string> connection(NvmlDevice a, NvmlDevice b) const;

 private:
  struct Functions;
  Nvml(void* library, std::unique_ptr<Functions> functions);

  void* library_;
  std::unique_ptr<Functions> functions_;
};

}  // namespace gpubench
