#include "harness/platform/model/compiled/compiled.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace gpubench::model {

extern const char* const compiled_json;  // the file's text, by CMake

namespace {

using Architecture = std::map<std::string, CompiledKernel>;  // by the kernel's name

// By compute capability, as in "90". An entry of the file holds for one or more of them: "80 86".
std::map<std::string, Architecture> read_kernels() {
  std::map<std::string, Architecture> result;
  const auto file = nlohmann::json::parse(compiled_json);
  for (const auto& [name, groups] : file.at("kernels").items()) {
    for (const auto& [group, entry] : groups.items()) {
      CompiledKernel kernel;
      kernel.registers = entry.at("registers");
      kernel.static_shared_bytes = entry.value("static_shared_bytes", std::size_t{0});
      kernel.local_bytes = entry.value("local_bytes", std::size_t{0});
      kernel.local_traffic_bytes =
          entry.value("local_load_bytes", 0.0) + entry.value("local_store_bytes", 0.0);
      kernel.knows_local_bytes = kernel.local_bytes > 0 || kernel.local_traffic_bytes == 0;
      kernel.has_local_price = kernel.local_traffic_bytes == 0;
      if (const auto loop = entry.find("spills"); loop != entry.end()) {
        kernel.has_local_price = true;
        kernel.multiply_adds = loop->at("multiply_adds");
        kernel.local_loop_bytes = loop->value("load_bytes", 0.0) + loop->value("store_bytes", 0.0);
      }
      if (entry.contains("counts")) entry.at("counts").get_to(kernel.counts);
      std::istringstream architectures(group);
      for (std::string one; architectures >> one;) result[one].emplace(name, kernel);
    }
  }
  return result;
}

}  // namespace

double CompiledKernel::local_words(double warps, double issued) const {
  if (!has_local_price) return 0;
  constexpr double word = 4;
  const double turns = multiply_adds > 0 ? issued / multiply_adds : 0;
  return (warps * (local_traffic_bytes - local_loop_bytes) + turns * local_loop_bytes) / word;
}

const CompiledKernel* compiled_kernel(const DeviceSpec& device, const std::string& kernel) {
  static const auto kernels = read_kernels();
  const auto [major, minor] = device.compute_capability();
  const auto architecture = kernels.find(std::to_string(10 * major + minor));
  if (architecture == kernels.end()) return nullptr;
  const auto found = architecture->second.find(kernel);
  return found == architecture->second.end() ? nullptr : &found->second;
}

const char* words_for(RowAccess access) {
  switch (access) {
    case RowAccess::global_load:
      return "global load";
    case RowAccess::global_store:
      return "global store";
    case RowAccess::shared_load:
      return "shared load";
    case RowAccess::shared_store:
      return "shared store";
    case RowAccess::arithmetic:
      return "arithmetic";
    case RowAccess::shared_atomic:
      return "shared atomic";
  }
  return "";
}

std::string worth_of_counts(const CompiledKernel& kernel, RowAccess access) {
  const auto found = kernel.counts.find(words_for(access));
  return found == kernel.counts.end() ? "exact" : "source stream; " + found->second;
}

}  // namespace gpubench::model
