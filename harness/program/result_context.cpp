#include <benchmark/benchmark.h>

#include <ctime>
#include <set>

#include "harness/program/result_json.hpp"
#include "harness/records/concepts.hpp"
#include "harness/system/error.hpp"
#include "harness/system/version.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &utc);
  return text;
}

#ifdef NDEBUG
constexpr bool optimised = true;
#else
constexpr bool optimised = false;
#endif

ordered_json roofs_json(const std::vector<StatedRoof>& roofs) {
  ordered_json json = ordered_json::array();
  for (const StatedRoof& roof : roofs) {
    json.push_back({{"name", roof.name},
                    {"kind", roof.is_bandwidth() ? "bandwidth" : "compute"},
                    {"value", roof.value},
                    {"unit", roof.unit},
                    {"provenance", roof.provenance},
                    {"source", roof.source}});
  }
  return json;
}

ordered_json state_json(const DeviceState& state) {
  ordered_json json = ordered_json::object();
  const auto say = [&](const char* name, const auto& value) {
    if (value) json[name] = *value;
  };
  say("uuid", state.uuid);
  say("vbios", state.vbios);
  say("ecc", state.ecc);
  say("mig", state.mig);
  say("pcie_generation", state.pcie_generation);
  say("pcie_generation_max", state.pcie_generation_max);
  say("pcie_width", state.pcie_width);
  say("pcie_width_max", state.pcie_width_max);
  say("power_limit_w", state.power_limit_w);
  say("power_limit_default_w", state.power_limit_default_w);
  say("processes", state.processes);
  return json;
}

// The name alone says whose figures they are only of a device file that ships.
bool is_own_model(const Platform& platform) {
  return platform.kind() == DeviceKind::model && is_own_device(platform.device());
}

}  // namespace

std::vector<std::string> caveats_of_run(const Options& options, Platform& platform) {
  std::vector<std::string> caveats = platform.caveats();
  if (is_own_model(platform)) {
    caveats.push_back("the model's figures come from a custom device file called " +
                      platform.device().name());
  }
  if (!options.bench.kept_results.empty()) {
    caveats.emplace_back("the results of no row were checked: --keep_results keeps them");
  }
  HealthMonitor* const health = platform.health();
  if (options.bench.energy && (health == nullptr || !health->energy_joules())) {
    caveats.emplace_back("rows have no joules: the driver has no energy counter for this GPU");
  }
  return caveats;
}

ordered_json context_json(const Options& options, Platform& platform, const char* executable) {
  const benchmark::CPUInfo& cpu = benchmark::CPUInfo::Get();
  const auto& device = platform.device();
  const auto [major, minor] = device.compute_capability();
  ordered_json json = {{"date", now()},
                       {"host_name", benchmark::SystemInfo::Get().name},
                       {"executable", executable},
                       {"num_cpus", cpu.num_cpus},
                       {"mhz_per_cpu", static_cast<int>(cpu.cycles_per_second / 1e6)},
                       {"cpu_scaling_enabled", cpu.scaling == benchmark::CPUInfo::ENABLED},
                       {"caches", ordered_json::array()},
                       {"load_avg", cpu.load_avg},
                       {"library_build_type", optimised ? "release" : "debug"},
                       {"schema_version", result_schema_version},
                       {"gpubench_version", version::number},
                       {"device_kind", platform.kind() == DeviceKind::model ? "model" : "cuda"},
                       {"device", device.name()},
                       {"device_title", device.title()},
                       {"compute_capability", std::to_string(major) + "." + std::to_string(minor)},
                       {"compiler", version::compiler},
                       {"compiler_flags", version::flags},
                       {"git_commit", version::commit},
                       {"git_dirty", version::dirty},
                       {"suite", options.suite_name},
                       {"mode", options.bench.mode == Mode::cold ? "cold" : "hot"},
                       {"seed", options.bench.seed}};
  if (const std::string cuda = platform.cuda_version(); !cuda.empty()) json["cuda_version"] = cuda;
  if (const std::string name = platform.conditions(); !name.empty()) json["conditions"] = name;
  if (!options.engine.empty()) json["engine"] = options.engine;
  if (is_own_model(platform)) json["own_device_file"] = true;
  if (platform.health() != nullptr) {
    if (const auto driver = platform.health()->driver_version()) json["driver_version"] = *driver;
    if (const ordered_json state = state_json(platform.health()->state()); !state.empty()) {
      json["device_state"] = state;
    }
  }
  if (const auto caveats = caveats_of_run(options, platform); !caveats.empty())
    json["caveats"] = caveats;
  // What not every run has, or has only at its end, is no less gpubench's own.
  const std::set<std::string, std::less<>> not_always{
      "axes",         "caveats",       "concepts",       "conditions",
      "cuda_version", "device_state",  "driver_version", "engine",
      "filter",       "imported_from", "interrupted",    "own_device_file",
      "resumed",      "roofs",         "run_seconds",    "terms"};
  for (const auto& [key, value] : options.context) {
    if (json.contains(key) || not_always.contains(key)) {
      throw UsageError("--benchmark_context: '" + key + "' is a key that gpubench sets itself");
    }
    json[key] = value;
  }
  return json;
}

void complete_context(ordered_json& context, const std::vector<Row>& rows,
                      const std::vector<StatedRoof>& roofs) {
  context["roofs"] = roofs_json(roofs);
  auto concepts = ordered_json::object(), axes = concepts;
  for (const Row& row : rows) {
    if (const std::string question = concept_question(row.topic); !question.empty()) {
      concepts[row.topic] = question;
    }
    for (const auto& [axis, unit] : row.axis_units) axes.emplace(axis, unit);
  }
  context["concepts"] = std::move(concepts);
  context["axes"] = std::move(axes);
}

}  // namespace gpubench
