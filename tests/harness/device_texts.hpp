// Device files as texts, and what is said of wrong ones.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/devices/device.hpp"

namespace gpubench {

inline const std::filesystem::path devices_dir =
    std::filesystem::path(GPUBENCH_SOURCE_DIR) / "harness" / "devices";

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// A complete device file to break in one place at a time.
inline nlohmann::json good_device() {
  return nlohmann::json::parse(read_file(devices_dir / "h200-sxm.json"));
}

inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

inline std::string parse_error(const std::string& text) {
  return error_of([&] { DeviceSpec::parse(text, "mine.json"); });
}

inline std::string parse_error(const nlohmann::json& device) { return parse_error(device.dump(2)); }

inline std::string parse_error_with(const std::string& figure, const nlohmann::json& value) {
  nlohmann::json device = good_device();
  device["figures"][figure]["value"] = value;
  return parse_error(device);
}

}  // namespace gpubench
