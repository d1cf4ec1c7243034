#include "harness/evidence/nvml.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <utility>

namespace gpubench {
namespace {

// NVML's enumerations, all as wide as an int, reduced to the values used.
constexpr int kNvmlSuccess = 0;     // NVML_SUCCESS
constexpr int kClockSm = 1;         // NVML_CLOCK_SM
constexpr int kTemperatureGpu = 0;  // NVML_TEMPERATURE_GPU
constexpr int kP2pNvlink = 2;       // NVML_P2P_CAPS_INDEX_NVLINK
constexpr int kP2pOk = 0;           // NVML_P2P_STATUS_OK

// nvmlGpuTopologyLevel_t, in words.
constexpr std::pair<int, const char*> kCommonAncestors[] = {
    {0, "one board"},    {10, "one switch"},    {20, "several switches"},
    {30, "host bridge"}, {40, "one NUMA node"}, {50, "between NUMA nodes"}};

constexpr std::size_t kTextBytes = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, the longest asked for
constexpr int kInsufficientSize = 7;    // NVML_ERROR_INSUFFICIENT_SIZE

std::nullptr_t absent(std::string* why_absent, std::string reason) {
  if (why_absent) *why_absent = std::move(reason);
  return nullptr;
}

template <typename Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

// Calls function(arguments..., &value); absent when the library lacks it or it refuses.
template <typename Value, typename... Parameters, typename... Arguments>
std::optional<Value> query(int (*function)(Parameters...), Arguments... arguments) {
  Value value{};
  if (!function || function(arguments..., &value) != kNvmlSuccess) return std::nullopt;
  return value;
}

// The same of a function that writes text.
template <typename... Parameters, typename... Arguments>
std::optional<std::string> text_of(int (*function)(Parameters...), Arguments... arguments) {
  std::array<char, kTextBytes> text{};
  if (!function || function(arguments..., text.data(), text.size()) != kNvmlSuccess) {
    return std::nullopt;
  }
  return std::string(text.data());
}

// And of one that tells what is on now and what will be after a restart.
std::optional<bool> is_on(int (*function)(NvmlDevice, int* now, int* later), NvmlDevice device) {
  int now = 0, later = 0;
  if (!function || function(device, &now, &later) != kNvmlSuccess) return std::nullopt;
  return now != 0;
}

std::optional<double> scaled(std::optional<unsigned> value, double unit) {
  if (!value) return std::nullopt;
  return *value * unit;
}

}  // namespace

struct Nvml::Functions {
  using DeviceClock = int(NvmlDevice, int domain, unsigned* megahertz);
  using DeviceReasons = int(NvmlDevice, unsigned long long* mask);
  using DeviceEnergy = int(NvmlDevice, unsigned long long* millijoules);
  using DeviceNumber = int(NvmlDevice, unsigned* number);
  using DeviceText = int(NvmlDevice, char* text, unsigned bytes);
  using DeviceMode = int(NvmlDevice, int* now, int* later);

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int status) = nullptr;
  int (*driver_version)(char* text, unsigned bytes) = nullptr;
  int (*handle_by_pci_bus_id)(const char* pci_bus_id, NvmlDevice*) = nullptr;
  DeviceClock* clock = nullptr;
  DeviceClock* max_clock = nullptr;
  DeviceNumber* power = nullptr;  // [mW], as the limits are
  DeviceEnergy* energy = nullptr;
  DeviceNumber *power_limit = nullptr, *power_limit_default = nullptr;
  DeviceNumber *pcie_width = nullptr, *pcie_width_max = nullptr;
  DeviceNumber *pcie_generation = nullptr, *pcie_generation_max = nullptr;
  DeviceText *uuid = nullptr, *vbios = nullptr;
  DeviceMode *ecc = nullptr, *mig = nullptr;
  int (*processes)(NvmlDevice, unsigned* count, void* infos) = nullptr;
  int (*temperature)(NvmlDevice, int sensor, unsigned* celsius) = nullptr;
  DeviceReasons* event_reasons = nullptr;
  int (*p2p_status)(NvmlDevice, NvmlDevice, int capability, int* status) = nullptr;
  int (*common_ancestor)(NvmlDevice, NvmlDevice, int* level) = nullptr;

  explicit Functions(void* library) {
    find(library, "nvmlInit_v2", init);
    find(library, "nvmlShutdown", shutdown);
    find(library, "nvmlErrorString", error_string);
    find(library, "nvmlSystemGetDriverVersion", driver_version);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", handle_by_pci_bus_id);
    find(library, "nvmlDeviceGetClockInfo", clock);
    find(library, "nvmlDeviceGetMaxClockInfo", max_clock);
    find(library, "nvmlDeviceGetPowerUsage", power);
    find(library, "nvmlDeviceGetTotalEnergyConsumption", energy);
    find(library, "nvmlDeviceGetEnforcedPowerLimit", power_limit);
    find(library, "nvmlDeviceGetPowerManagementDefaultLimit", power_limit_default);
    find(library, "nvmlDeviceGetCurrPcieLinkWidth", pcie_width);
    find(library, "nvmlDeviceGetMaxPcieLinkWidth", pcie_width_max);
    find(library, "nvmlDeviceGetCurrPcieLinkGeneration", pcie_generation);
    find(library, "nvmlDeviceGetMaxPcieLinkGeneration", pcie_generation_max);
    find(library, "nvmlDeviceGetUUID", uuid);
    find(library, "nvmlDeviceGetVbiosVersion", vbios);
    find(library, "nvmlDeviceGetEccMode", ecc);
    find(library, "nvmlDeviceGetMigMode", mig);
    find(library, "nvmlDeviceGetComputeRunningProcesses_v3", processes);
    find(library, "nvmlDeviceGetTemperature", temperature);
    find(library, "nvmlDeviceGetCurrentClocksEventReasons", event_reasons);
    find(library, "nvmlDeviceGetP2PStatus", p2p_status);
    find(library, "nvmlDeviceGetTopologyCommonAncestor", common_ancestor);
    // Older drivers know it by its first name only; the mask is the same.
    if (!event_reasons) find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", event_reasons);
  }

  std::string error_text(const char* function, int status) const {
    const std::string number = "error " + std::to_string(status);
    const char* text = error_string ? error_string(status) : nullptr;
    return std::string(function) + ": " + (text ? text + (" (" + number + ")") : number);
  }

  // The first function missing without which nothing else can be asked.
  const char* missing() const {
    if (!init) return "nvmlInit_v2";
    if (!shutdown) return "nvmlShutdown";
    if (!handle_by_pci_bus_id) return "nvmlDeviceGetHandleByPciBusId_v2";
    return nullptr;
  }
};

std::unique_ptr<Nvml> Nvml::load(const std::string& library, std::string* why_absent) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return absent(why_absent, std::string("cannot load NVML: ") + dlerror());

  auto functions = std::make_unique<Functions>(handle);
  if (const char* missing = functions->missing()) {
    dlclose(handle);
    return absent(why_absent, library + " has no " + missing);
  }
  if (const int status = functions->init(); status != kNvmlSuccess) {
    const std::string reason = functions->error_text("nvmlInit_v2", status);
    dlclose(handle);
    return absent(why_absent, reason);
  }
  return std::unique_ptr<Nvml>(new Nvml(handle, std::move(functions)));
}

Nvml::Nvml(void* library, std::unique_ptr<Functions> functions)
    : library_(library), functions_(std::move(functions)) {}

Nvml::~Nvml() {
  functions_->shutdown();
  dlclose(library_);
}

std::optional<NvmlDevice> Nvml::device(const std::string& pci_bus_id,
                                       std::string* why_absent) const {
  NvmlDevice device = nullptr;
  const int status = functions_->handle_by_pci_bus_id(pci_bus_id.c_str(), &device);
  if (status == kNvmlSuccess) return device;
  absent(why_absent, "no GPU at " + pci_bus_id + ": " +
                         functions_->error_text("nvmlDeviceGetHandleByPciBusId_v2", status));
  return std::nullopt;
}

std::optional<std::string> Nvml::driver_version() const {
  return text_of(functions_->driver_version);
}

DeviceState Nvml::state(NvmlDevice device) const {
  const Functions& f = *functions_;
  DeviceState state{
      .uuid = text_of(f.uuid, device),
      .vbios = text_of(f.vbios, device),
      .ecc = is_on(f.ecc, device),
      .mig = is_on(f.mig, device),
      .pcie_generation = query<unsigned>(f.pcie_generation, device),
      .pcie_generation_max = query<unsigned>(f.pcie_generation_max, device),
      .pcie_width = query<unsigned>(f.pcie_width, device),
      .pcie_width_max = query<unsigned>(f.pcie_width_max, device),
      .power_limit_w = scaled(query<unsigned>(f.power_limit, device), 1e-3),
      .power_limit_default_w = scaled(query<unsigned>(f.power_limit_default, device), 1e-3),
      .processes = {}};
  unsigned count = 0;  // and no room for them: how many there are is told all the same
  const int status = f.processes ? f.processes(device, &count, nullptr) : -1;
  if (status == kNvmlSuccess || status == kInsufficientSize) state.processes = count;
  return state;
}

std::optional<double> Nvml::sm_clock_hz(NvmlDevice device) const {
  return scaled(query<unsigned>(functions_->clock, device, kClockSm), 1e6);
}

std::optional<double> Nvml::max_sm_clock_hz(NvmlDevice device) const {
  return scaled(query<unsigned>(functions_->max_clock, device, kClockSm), 1e6);
}

std::optional<double> Nvml::power_w(NvmlDevice device) const {
  return scaled(query<unsigned>(functions_->power, device), 1e-3);
}

std::optional<double> Nvml::energy_joules(NvmlDevice device) const {
  const auto millijoules = query<unsigned long long>(functions_->energy, device);
  if (!millijoules) return std::nullopt;
  return static_cast<double>(*millijoules) * 1e-3;
}

std::optional<double> Nvml::temperature_c(NvmlDevice device) const {
  return scaled(query<unsigned>(functions_->temperature, device, kTemperatureGpu), 1);
}

std::optional<std::uint64_t> Nvml::clocks_event_reasons(NvmlDevice device) const {
  return query<unsigned long long>(functions_->event_reasons, device);
}

std::optional<std::string> Nvml::connection(NvmlDevice a, NvmlDevice b) const {
  if (query<int>(functions_->p2p_status, a, b, kP2pNvlink) == kP2pOk) return "NVLink";
  const auto level = query<int>(functions_->common_ancestor, a, b);
  for (const auto& [value, words] : kCommonAncestors) {
    if (level == value) return "PCIe (" + std::string(words) + ")";
  }
  return std::nullopt;
}

}  // namespace gpubench
