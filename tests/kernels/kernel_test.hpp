// Runs a concept's kernels as they are, every block of them, at shapes that its rows do not have.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "device_check.hpp"
#include "device_fill.hpp"
#include "harness/gpu/buffer.hpp"
#include "harness/gpu/launch.hpp"
#include "harness/model/emulator/emulator.hpp"
#include "harness/model/runtime/runtime.hpp"
#include "harness/random.hpp"

namespace gpubench {

// Sizes at which edges go wrong: around a power of two, primes, a single element.
inline constexpr unsigned ragged_sizes[] = {1, 31, 32, 33, 61, 127, 128, 129, 255, 257, 509, 1021};

class KernelTest : public testing::Test {
 protected:
  KernelTest() {
    emulator.set_execution(model::Execution::whole);
    model::RuntimeOptions options;
    options.diagnostic = [this](const std::string& line) { diagnostic = line; };
    model::install_runtime(std::make_unique<model::Runtime>(device, memory, emulator, options));
  }
  ~KernelTest() override { model::install_runtime(nullptr); }

  template <class T>
  static constexpr Generator<T> values{7};
  template <class T>
  static DeviceBuffer<T> input(std::size_t elements) {
    DeviceBuffer<T> buffer(elements);
    if (elements > 0) fill_random(buffer.data(), elements, values<T>);
    return buffer;
  }
  template <class T>
  static DeviceBuffer<T> output(std::size_t elements) {
    DeviceBuffer<T> buffer(elements);
    if (elements > 0) CUDA_CHECK(cudaMemset(buffer.data(), poison_byte, buffer.bytes()));
    return buffer;
  }

  // Waits for what was launched; every element of `out` must be what `expected` says.
  template <class T, class Expected>
  void expect_elements(const DeviceBuffer<T>& out, Expected expected, double relative = 0) {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    EXPECT_EQ(check_elements(out.data(), out.size(), expected, relative, 0.0, false), "");
  }
  // What the last launch did, all traced.
  const model::Counts& counts() const { return emulator.runs().back().profile.counts; }

  const DeviceSpec device = device_spec("h200-sxm");
  model::DeviceMemory memory{std::size_t{1} << 30};
  model::Emulator emulator{
      device, memory, {.threads = 2, .most_sampled_blocks = 1 << 20, .event_budget = 1 << 30}};
  std::string diagnostic;
};

}  // namespace gpubench
