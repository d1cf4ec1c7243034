// The model device as the harness sees it: harness/platform.hpp.
#include "harness/platform.hpp"

#include <algorithm>
#include <map>

#include "harness/model/emulator/emulator.hpp"
#include "harness/model/runtime/runtime.hpp"

namespace gpubench {
namespace {

class ModelPlatform final : public Platform {
 public:
  explicit ModelPlatform(DeviceSpec device)
      : device_(std::move(device)),
        memory_(static_cast<std::size_t>(device_["dram_bytes"])),
        emulator_(device_, memory_, settings()) {
    model::install_runtime(
        std::make_unique<model::Runtime>(device_, memory_, emulator_, model::RuntimeOptions{}));
  }
  ~ModelPlatform() override { model::install_runtime(nullptr); }

  DeviceKind kind() const override { return DeviceKind::model; }
  const DeviceSpec& device() const override { return device_; }
  bool has_device_file() const override { return true; }
  std::string cuda_version() const override { return {}; }
  HealthMonitor* health() override { return nullptr; }
  bool deterministic() const override { return true; }
  double host_seconds() const override { return model::current_runtime()->host_seconds(); }

  void expect_results(bool whole_grids) override {
    emulator_.forget_runs();
    emulator_.set_execution(whole_grids ? model::Execution::whole : model::Execution::sampled);
  }
  void expect_timing() override { emulator_.set_execution(model::Execution::timing); }
  std::vector<TracedOperation> trace(const std::function<void()>& run) override;
  Observation observe(Access access) const override;

 private:
  static model::EmulatorSettings settings() {
    model::EmulatorSettings settings;
    settings.is_mapped_host = [](const void* address, std::size_t bytes) {
      return model::current_runtime()->is_mapped_host(address, bytes);
    };
    return settings;
  }

  DeviceSpec device_;
  model::DeviceMemory memory_;
  model::Emulator emulator_;
};

std::vector<TracedOperation> ModelPlatform::trace(const std::function<void()>& run) {
  model::Runtime& runtime = *model::current_runtime();
  runtime.clear_records();
  const double begin = runtime.host_seconds();
  run();
  std::vector<TracedOperation> operations;
  for (const model::HostRecord& call : runtime.host_records()) {
    const std::string times = call.calls > 1 ? " x " + std::to_string(call.calls) : "";
    operations.push_back({"host", call.name + times, "", 0, call.start - begin, call.end - begin});
  }
  // Streams count from the first that this program uses.
  std::map<int, std::string> streams{{0, "legacy default stream"}};
  const auto records = runtime.records();
  for (const model::Record& r : records) {
    streams.try_emplace(r.stream, "stream " + std::to_string(streams.size()));
    operations.push_back(
        {streams.at(r.stream), r.name, "", r.bytes, r.start - begin, r.end - begin});
  }
  for (const model::Record& r : records) {
    if (r.engine == model::Engine::none) continue;
    operations.push_back({model::engine_name(r.engine), r.name, streams.at(r.stream), r.bytes,
                          r.start - begin, r.end - begin});
  }
  return operations;
}

Observation ModelPlatform::observe(Access access) const {
  const auto& runs = emulator_.runs();
  if (runs.empty()) return {};
  const bool shared = access == Access::shared_load || access == Access::shared_store;
  const bool load = access == Access::global_load || access == Access::shared_load;
  Observation result;
  model::AccessCounts studied;
  double dram = 0;
  const model::Emulator::Run* longest = &runs.front();
  for (const auto& run : runs) {
    const auto counts = run.profile.counts.scaled(run.profile.scale());
    studied += counts.at(shared ? model::Space::shared : model::Space::global,
                         load ? model::Access::load : model::Access::store);
    dram += run.prediction.traffic.dram_read_bytes + run.prediction.traffic.dram_write_bytes;
    result.whole = result.whole && run.whole;
    if (run.prediction.seconds > longest->prediction.seconds) longest = &run;
  }
  if (studied.requests > 0) {
    if (shared) {
      result.wavefronts_per_request = studied.wavefronts / studied.requests;
    } else {
      result.sectors_per_request = studied.sectors / studied.requests;
    }
    result.active_lanes = studied.lanes / studied.requests;
  }
  if (dram > 0) result.dram_bytes = dram;
  result.occupancy = longest->prediction.occupancy.fraction;
  result.bound = longest->prediction.bound;
  for (const auto& term : longest->prediction.terms) {
    result.terms.emplace_back(term.name, term.seconds);
  }
  return result;
}

}  // namespace

std::unique_ptr<Platform> open_platform(const std::string& selector) {
  DeviceSpec device = device_spec(selector);
  if (device.kind() != "gpu") {
    throw UsageError("device '" + device.name() + "' holds data-sheet roofs only: no model of it");
  }
  return std::make_unique<ModelPlatform>(std::move(device));
}

DeviceKind program_kind() { return DeviceKind::model; }
std::vector<std::string> list_gpus() { return {}; }

}  // namespace gpubench
