#include "harness/devices/device.hpp"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "harness/devices/device_file.hpp"
#include "harness/devices/embedded.hpp"
#include "harness/devices/figure_rules.hpp"
#include "harness/devices/spelling.hpp"

namespace gpubench {
namespace {

constexpr std::size_t memories = 4;  // of the names of roofs, the first

auto distrust(std::string_view from) {
  return std::ranges::find(provenances(), from) - provenances().begin();
}

}  // namespace

double DeviceSpec::operator[](std::string_view figure) const {
  if (const auto value = find(figure)) return *value;
  throw UsageError("device " + name_ + " has no figure " + in_quotes(figure));
}

std::optional<double> DeviceSpec::find(std::string_view figure) const {
  const auto it = figures_.find(std::string(figure));
  if (it == figures_.end()) {
    if (find_rule(figure) != nullptr) return std::nullopt;
    throw std::logic_error("no device file has a figure " + in_quotes(figure) + ": did you mean " +
                           in_quotes(closest_figure(figure)) + "?");
  }
  return it->second.value;
}

// A product of figures, the first of which says what the roof counts; its provenance is that of the
// one to be trusted least.
std::optional<Roof> DeviceSpec::product(const std::string& name,
                                        std::initializer_list<std::string_view> factors) const {
  double value = 1;
  const Figure* weakest = nullptr;
  for (const std::string_view factor : factors) {
    const auto it = figures_.find(std::string(factor));
    if (it == figures_.end()) return std::nullopt;
    value *= it->second.value;
    if (weakest == nullptr || distrust(it->second.from) > distrust(weakest->from)) {
      weakest = &it->second;
    }
  }
  std::string unit(find_rule(*factors.begin())->unit);
  if (!unit.ends_with("/s")) unit += "/s";  // of a clock and an SM
  return Roof{name, unit, value, weakest->from, weakest->from + ": " + weakest->source};
}

std::optional<Roof> DeviceSpec::reachable_dram() const {
  std::optional<Roof> best;
  for (const std::string_view efficiency :
       {"dram_read_efficiency", "dram_write_efficiency", "dram_mixed_efficiency"}) {
    const auto roof = product("dram", {"dram_bytes_per_second", efficiency});
    if (roof && (!best || best->value < roof->value)) best = roof;
  }
  return best;
}

std::span<const std::string_view> roof_names() {
  static constexpr std::string_view names[] = {"dram",
                                               "l2",
                                               "l1",
                                               "shared",
                                               "fp64",
                                               "fp32",
                                               "fp16x2",
                                               "bf16x2",
                                               "int32",
                                               "tensor_fp64",
                                               "tensor_tf32",
                                               "tensor_fp16",
                                               "tensor_fp16_acc16",
                                               "tensor_bf16",
                                               "tensor_fp8",
                                               "tensor_mxfp8",
                                               "tensor_fp4",
                                               "tensor_int8"};
  return names;
}

std::vector<Roof> DeviceSpec::data_sheet_roofs() const {
  std::vector<Roof> roofs;
  const auto add = [&](const std::string& name, std::initializer_list<std::string_view> factors) {
    const auto roof = product(name, factors);
    if (roof) roofs.push_back(*roof);
    return roof.has_value();
  };
  add("dram", {"dram_bytes_per_second"});
  add("l2", {"l2_bytes_per_second"});
  for (const std::string level : {"l1", "shared"}) {
    add(level, {level + "_bytes_per_clock_per_sm", "sm_count", "sm_clock_hz"});
  }
  for (const std::string_view name : roof_names().subspan(memories)) {
    const std::string unit(name);
    const std::string of_sm = unit == "int32" ? "_ops_per_clock_per_sm" : "_flops_per_clock_per_sm";
    const bool computed = kind_ == "gpu" && add(unit, {unit + of_sm, "sm_count", "sm_clock_hz"});
    if (!computed) add(unit, {unit + "_flops_per_second"});
  }
  return roofs;
}

bool is_own_device(const DeviceSpec& device) {
  for (const auto& name : known_devices()) {
    if (name == device.name())
      return device_file_text(device) != device_file_text(device_spec(name));
  }
  return true;
}

std::vector<std::string> known_devices() {
  std::vector<std::string> names;
  for (const auto& file : embedded_device_files()) names.emplace_back(file.stem);
  return names;
}

std::vector<std::string> modelled_devices() {
  std::vector<std::string> names = known_devices();
  std::erase_if(names, [](const std::string& name) { return device_spec(name).kind() != "gpu"; });
  return names;
}

DeviceSpec device_spec(const std::string& name_or_path) {
  for (const auto& file : embedded_device_files()) {
    if (file.stem == name_or_path) {
      return DeviceSpec::parse(file.text, std::string(file.stem) + ".json");
    }
  }
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json")) {
    return DeviceSpec::load(name_or_path);
  }
  fail("unknown device " + in_quotes(name_or_path),
       "known are " + joined(closest_first(modelled_devices(), name_or_path)) +
           ", or give the path of a .json file");
}

std::optional<DeviceSpec> device_spec_for_gpu(const std::string& cuda_name) {
  // A slice of a GPU is not the GPU.
  if (cuda_name.find(" MIG ") != std::string::npos) return std::nullopt;
  std::string best_device;
  std::size_t best_length = 0;  // an equal name is the longest start there can be
  for (const auto& name : known_devices()) {
    for (const auto& match : device_spec(name).matches()) {
      const bool is_start = cuda_name.starts_with(match) &&
                            (cuda_name.size() == match.size() || cuda_name[match.size()] == ' ' ||
                             cuda_name[match.size()] == '-');
      if (is_start && match.size() > best_length) {
        best_device = name;
        best_length = match.size();
      }
    }
  }
  if (best_device.empty()) return std::nullopt;
  return device_spec(best_device);
}

}  // namespace gpubench
