// A model device on which a test launches kernels, every block traced.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "harness/platform/model/engine/emulator.hpp"
#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench::model {

class EmulatorTest : public testing::Test {
 protected:
  explicit EmulatorTest(const std::string& device = "h200-sxm") : spec(device_spec(device)) {
    use(emulator);
  }
  ~EmulatorTest() override { install_runtime(nullptr); }

  // A device in working order that runs its kernels on `executor`.
  void use(Emulator& executor) {
    RuntimeOptions options;
    options.diagnostic = [this](const std::string& line) { diagnostic = line; };
    install_runtime(std::make_unique<Runtime>(spec, memory, executor, options));
  }

  template <class T>
  T* make(std::size_t elements) {
    return static_cast<T*>(memory.allocate(elements * sizeof(T)));
  }
  template <class T>
  T* upload(const std::vector<T>& values) {
    T* device = make<T>(values.size());
    memory.write(device, values.data(), values.size() * sizeof(T));
    return device;
  }
  template <class T>
  std::vector<T> download(const T* device, std::size_t elements) {
    std::vector<T> values(elements);
    memory.read(values.data(), device, elements * sizeof(T));
    return values;
  }
  std::vector<float> numbers(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 0.0f);
    return values;
  }

  // What one launch came to, every block traced.
  template <class Launch>
  Counts counts_of(Launch&& launch) {
    emulator.forget_runs();
    launch();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    if (emulator.runs().size() != 1) {
      ADD_FAILURE() << emulator.runs().size() << " launches instead of one";
      return {};
    }
    const KernelProfile& profile = emulator.runs()[0].profile;
    EXPECT_EQ(profile.blocks, profile.traced_blocks);
    return profile.counts;
  }
  template <class Launch>
  AccessCounts loads_of(Launch&& launch) {
    return counts_of(launch).at(Space::global, Access::load);
  }

  // Runs a faulty launch; the device is a new one afterwards, the emulator the same.
  template <class Launch>
  std::string fault_of(Launch&& launch) {
    diagnostic.clear();
    launch();
    EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);
    use(emulator);
    return diagnostic;
  }

  // Launches with each mistake fail, and say these words.
  template <class Mistakes, class Launch>
  void expect_faults(const Mistakes& mistakes, Launch&& launch) {
    for (const auto& [mistake, words] : mistakes) {
      const std::string fault = fault_of([&, which = mistake] { launch(which); });
      EXPECT_NE(fault.find(words), std::string::npos) << words << '\n' << fault;
    }
  }

  const DeviceSpec spec;
  DeviceMemory memory{std::size_t{1} << 30};
  Emulator emulator{
      spec, memory, {.threads = 2, .most_sampled_blocks = 1 << 20, .event_budget = 1 << 30}};
  std::string diagnostic;
};

inline void expect_access(const AccessCounts& counts, double requests, double lanes, double bytes) {
  EXPECT_EQ(counts.requests, requests);
  EXPECT_EQ(counts.lanes, lanes);
  EXPECT_EQ(counts.bytes, bytes);
}

}  // namespace gpubench::model
