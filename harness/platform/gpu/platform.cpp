// A GPU as the harness sees it: harness/platform/platform.hpp.
#include "harness/platform/platform.hpp"

#include <array>
#include <charconv>
#include <memory>

#include "harness/cuda/attributes.hpp"
#include "harness/cuda/check.hpp"
#include "harness/cuda/event_trace.hpp"
#include "harness/evidence/cupti.hpp"
#include "harness/evidence/nvml.hpp"
#include "harness/platform/gpu/device_limits.hpp"
#include "harness/system/cuda_environment.hpp"
#include "harness/system/demangle.hpp"
#include "harness/system/host_clock.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define GPUBENCH_NVTX
#endif

namespace gpubench {
namespace {

double attribute(cudaDeviceAttr name, int ordinal) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, name, ordinal));
  return value;
}

GpuAttributes attributes(const cudaDeviceProp& properties, int ordinal) {
  return attributes_of(properties, 1e3 * attribute(cudaDevAttrClockRate, ordinal),
                       1e3 * attribute(cudaDevAttrMemoryClockRate, ordinal),
                       attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal));
}

std::string bus_id(int ordinal) {
  std::array<char, 32> text{};
  CUDA_CHECK(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), ordinal));
  return text.data();
}

class GpuPlatform final : public Platform {
 public:
  explicit GpuPlatform(int ordinal) {
    open_gpu(ordinal);
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, ordinal));
    auto known = device_spec_for_gpu(properties.name);
    known_ = known.has_value();
    device_.emplace(known ? std::move(*known) : derived_device(attributes(properties, ordinal)));
    std::string why_no_health;
    health_ = open_health_monitor(bus_id(ordinal), &why_no_health);
    caveats_ = caveats_of(ordinal, health_.get(), why_no_health);
  }

  DeviceKind kind() const override { return DeviceKind::cuda; }
  const DeviceSpec& device() const override { return *device_; }
  bool has_device_file() const override { return known_; }
  std::string cuda_version() const override {
    int version = 0;
    CUDA_CHECK(cudaRuntimeGetVersion(&version));
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  std::string connection(int a, int b) const override {
    const auto nvml = Nvml::load("libnvidia-ml.so.1", nullptr);
    if (nvml == nullptr) return {};
    const auto first = nvml->device(bus_id(a), nullptr);
    const auto second = nvml->device(bus_id(b), nullptr);
    return first && second ? nvml->connection(*first, *second).value_or("") : "";
  }
  HealthMonitor* health() override { return health_.get(); }
  std::vector<std::string> caveats() const override { return caveats_; }
  bool deterministic() const override { return false; }
  int gpus() const override {
    int count = 0;
    CUDA_CHECK(cudaGetDeviceCount(&count));
    return count;
  }
  double host_seconds() const override { return host_clock(); }
  void rest(double seconds) override { rest_by_host_clock(seconds); }
  void expect_results(Grids) override {}
  void expect_timing() override {}
  std::vector<TracedOperation> trace(const std::function<void()>& run) override {
    return trace_by_events(
        run, [this] { return host_seconds(); },
        [](const void* kernel) {
          const char* name = nullptr;
          CUDA_CHECK(cudaFuncGetName(&name, kernel));
          return without_types(demangled(name));
        });
  }
  std::vector<std::string> kernels(const std::function<void()>& run) override {
    std::vector<std::string> names =
        launched_kernels(run, "libcupti.so." + std::to_string(CUDART_VERSION / 1000));
    for (std::string& name : names) name = without_types(demangled(name.c_str()));
    return names;
  }
  Observation observe(RowAccess) const override { return {}; }
#ifdef GPUBENCH_NVTX  // without, a profiler's launches have no row
  void name_for_profiler(const std::string& name, const std::function<void()>& run) override {
    nvtxRangePushA(name.c_str());
    const auto leave = [](const std::string*) { nvtxRangePop(); };
    const std::unique_ptr<const std::string, decltype(leave)> entered(&name, leave);
    run();
  }
#endif

 private:
  std::optional<DeviceSpec> device_;
  bool known_ = false;
  std::unique_ptr<HealthMonitor> health_;
  std::vector<std::string> caveats_;
};

}  // namespace

std::unique_ptr<Platform> open_platform(const std::string& selector,
                                        const std::string& conditions_file) {
  if (!conditions_file.empty()) {
    throw UsageError("--conditions needs the model device: add --device=model:NAME");
  }
  refuse_blocking_launches();
  int ordinal = 0;
  const char* end = selector.data() + selector.size();
  const auto parsed = std::from_chars(selector.data(), end, ordinal);
  const int count = gpu_count();
  if (parsed.ec != std::errc() || parsed.ptr != end || ordinal < 0 || ordinal >= count) {
    throw UsageError("no CUDA device '" + selector + "': this machine has " +
                     std::to_string(count));
  }
  return std::make_unique<GpuPlatform>(ordinal);
}

DeviceKind program_kind() { return DeviceKind::cuda; }
// The host's code has no line numbers here.
std::string source_of_code(const void*) { return {}; }

std::vector<std::string> list_gpus() {
  std::vector<std::string> lines;
  const int count = gpu_count();
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, i));
    const auto known = device_spec_for_gpu(properties.name);
    lines.push_back("cuda:" + std::to_string(i) + "  " + properties.name +
                    (known ? "  (described by " + known->name() + ")"
                           : "  (no device file: derived from its attributes)"));
  }
  return lines;
}

}  // namespace gpubench
