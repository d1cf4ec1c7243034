// A timer on the model device with kernels of known durations: whatever does not belong into a
// sample is a known number of seconds and would show. Kernels are loaded lazily here, as on a GPU,
// so that a first run behind a gate would block.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <vector>

#include "harness/cuda/launch.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/timing/timer.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench {

inline __global__ void tiny() {}
inline __global__ void small() {}
inline __global__ void large() {}

constexpr double tiny_seconds = 0.1e-6;
constexpr double small_seconds = 10e-6;
constexpr double large_seconds = 80e-6;
constexpr double nanosecond = 1e-9;

class TimerTest : public testing::Test {
 protected:
  TimerTest() {
    executor_.seconds = {{model::address(tiny), tiny_seconds},
                         {model::address(small), small_seconds},
                         {model::address(large), large_seconds}};
    settings_.warmup_seconds = 0;
    install({.deadlock_after = std::chrono::seconds(2), .lazy_loading = true});
  }
  ~TimerTest() override { model::install_runtime(nullptr); }

  void install(model::RuntimeOptions options) {
    model::install_runtime(std::make_unique<model::Runtime>(device_, memory_, executor_, options));
  }

  Timing time(const Body& body) {
    return time_body(
        body, [this] { ++rotations_; }, settings_);
  }
  static Body run(void (*kernel)(), int times = 1) {
    return [=](cudaStream_t stream) {
      for (int i = 0; i < times; ++i) launch(kernel, 1, 32, 0, stream);
    };
  }
  // Up to 6 us more, different for every launch.
  void make_noise() {
    executor_.extra_seconds = [generator = std::minstd_rand(1)](std::size_t) mutable {
      return std::uniform_real_distribution<double>(0, 6e-6)(generator);
    };
  }
  static void expect_all_near(const std::vector<double>& samples, double seconds) {
    for (const double sample : samples) EXPECT_NEAR(sample, seconds, nanosecond);
  }
  static double longest(const Timing& timing) {
    return *std::max_element(timing.seconds.begin(), timing.seconds.end());
  }

  // The most that waited behind any one gate.
  static std::size_t most_behind_a_gate() {
    std::size_t most = 0, waiting = 0;
    for (const model::Record& record : model::current_runtime()->records()) {
      if (record.name.starts_with("value at")) waiting = 0;
      waiting += record.name == "event" || record.engine == model::Engine::compute;
      most = std::max(most, 1 + waiting);
    }
    return most;
  }

  const DeviceSpec device_ = device_spec("h200-sxm");
  model::DeviceMemory memory_{std::size_t{1} << 26};
  model::FakeExecutor executor_;
  TimerSettings settings_;
  int rotations_ = 0;
};

}  // namespace gpubench
