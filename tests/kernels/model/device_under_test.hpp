// The model device under a test of kernels: one whose blocks all run and are all traced, under the
// conditions in the file that GPUBENCH_TEST_CONDITIONS names, if it is set. (The GPU's answer
// to the same name: tests/kernels/gpu/device_under_test.hpp.)
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/platform/model/engine/emulator.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {

// Set by tests/ptx, which runs the same tests on another engine and on older and newer devices, and
// compares what was counted.
inline model::MakeEngine engine_under_test;              // none: the source's
inline std::string device_name_under_test = "h200-sxm";  // or the path of a device file
inline std::function<void(const std::vector<model::Emulator::Run>&)> after_each_device;

class DeviceUnderTest : public testing::Test {
 protected:
  // One of `devices` that share a host.
  explicit DeviceUnderTest(int devices = 1)
      : memory(std::size_t{1} << 30, devices), emulator(device, memory, settings()) {
    emulator.set_execution(model::Execution::whole);
    if (engine_under_test) emulator.use_engine(engine_under_test);
    model::RuntimeOptions options;
    options.devices = options.node_devices = devices;
    options.conditions = conditions();
    options.diagnostic = [this](const std::string& line) { diagnostic = line; };
    model::install_runtime(std::make_unique<model::Runtime>(device, memory, emulator, options));
  }
  ~DeviceUnderTest() override {
    model::install_runtime(nullptr);
    if (after_each_device) after_each_device(emulator.runs());
  }

  // What the last launch did.
  const model::Counts& counts() const { return emulator.runs().back().profile.counts; }

  const DeviceSpec device = device_spec(device_name_under_test);
  model::DeviceMemory memory;
  model::Emulator emulator;
  std::string diagnostic;  // of a kernel that failed

 private:
  static model::Conditions conditions() {
    const char* const file = std::getenv("GPUBENCH_TEST_CONDITIONS");
    return file == nullptr ? model::Conditions{} : model::load_conditions(file);
  }
  static model::EmulatorSettings settings() {
    model::EmulatorSettings settings;
    settings.ordering = conditions().ordering;
    settings.threads = 2;
    settings.most_sampled_blocks = 1 << 20;
    settings.event_budget = 1 << 30;
    settings.is_mapped_host = [](const void* address, std::size_t bytes) {
      return model::current_runtime()->is_mapped_host(address, bytes);
    };
    settings.may_access = [](int from, int to) {
      return model::current_runtime()->may_access(from, to);
    };
    return settings;
  }
};

}  // namespace gpubench
