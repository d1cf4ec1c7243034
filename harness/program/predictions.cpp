#include "harness/program/predictions.hpp"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "harness/program/output_file.hpp"
#include "harness/system/child_process.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

// A device file that lives as long as this object.
class TemporaryDeviceFile {
 public:
  explicit TemporaryDeviceFile(const DeviceSpec& device) {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpubench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a directory like " + pattern);
    }
    directory_ = pattern;
    write_file(path_ = directory_ / (device.name() + ".json"), device_file_text(device));
  }
  TemporaryDeviceFile(const TemporaryDeviceFile&) = delete;
  ~TemporaryDeviceFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path directory_, path_;
};

}  // namespace

std::map<std::string, ordered_json> predictions(const Options& options, const Platform& platform) {
  std::map<std::string, ordered_json> by_name;
  if (platform.device().kind() != "gpu") {
    std::cerr << "gpubench: no prediction: no device file describes this GPU, and its "
                 "attributes are not enough to derive one\n";
    return by_name;
  }
  std::optional<TemporaryDeviceFile> derived;
  if (!platform.has_device_file()) {
    std::cerr << "gpubench: no device file describes this GPU: predictions and roofs are derived "
                 "from its attributes and architecture\n";
    derived.emplace(platform.device());
  }
  const std::string model = half_of_program(Half::model);
  const ChildResult ended =
      run_child({model, "--device=model:" + (derived ? derived->path() : platform.device().name()),
                 "--benchmark_filter=" + options.filter, "--suite=" + options.suite_name,
                 "--seed=" + std::to_string(options.bench.seed),
                 std::string("--mode=") + (options.bench.mode == Mode::cold ? "cold" : "hot"),
                 std::string("--profile=") + (options.bench.profile ? "true" : "false"),
                 "--benchmark_format=json"});
  // 1: some rows failed on the model; the others are predicted. A measurement needs none of them.
  const ordered_json file =
      ended.exit_code <= 1 ? ordered_json::parse(ended.output, nullptr, false) : ordered_json();
  if (!file.is_object() || !file.contains("benchmarks")) {
    std::cerr << "gpubench: no prediction: gpubench-model ended with exit code " << ended.exit_code
              << '\n';
    return by_name;
  }
  for (auto& row : file.at("benchmarks")) {
    if (row.contains("model_seconds")) by_name[row.at("name")] = row;
  }
  return by_name;
}

void take_prediction(Row& row, const ordered_json& prediction) {
  for (const char* name : {"model_seconds", "sectors_per_request", "wavefronts_per_request",
                           "active_lanes", "occupancy"}) {
    if (prediction.contains(name)) row.counters.try_emplace(name, prediction.at(name));
  }
  row.bound = prediction.value("label", "");
  row.roof = prediction.value("grade_roof", "");
  row.counts = prediction.value("counts", "");
  row.assuming = prediction.value("assuming", "");
  if (prediction.contains("terms")) {
    for (const auto& [name, seconds] : prediction.at("terms").items()) {
      row.terms.emplace_back(name, seconds);
    }
  }
  if (prediction.contains("instructions")) {
    for (const auto& [name, count] : prediction.at("instructions").items()) {
      row.instructions.emplace_back(name, count);
    }
  }
  const ordered_json bytes = prediction.value("bytes", ordered_json::object());
  const auto take = [&](std::optional<double>& moved, const char* level) {
    if (!moved && bytes.contains(level)) moved = bytes.at(level);
  };
  take(row.moved.dram, "dram");
  take(row.moved.l2, "l2");
  take(row.moved.l1, "l1");
  take(row.moved.shared, "shared");
  for (const auto& one : prediction.value("launches", ordered_json::array())) {
    row.launches.push_back({one.at("kernel"), one.at("times"), one.at("figures"),
                            one.value("departures", std::map<std::string, std::string>())});
  }
}

}  // namespace gpubench
