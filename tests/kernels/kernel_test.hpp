// Runs a concept's kernels as they are, every block of them, at shapes that its rows do not have:
// on the model in every build (part of model_tests), and on a GPU in gpubench-kernel-tests. A file
// NAME_test.cpp is compiled for both, and asks for results only; what the model alone can tell,
// counts above all, is in NAME_counts_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "device_check.hpp"
#include "device_fill.hpp"
#include "device_under_test.hpp"  // model/ or gpu/, by the include path
#include "harness/contents/random.hpp"
#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/residency.hpp"

namespace gpubench {

// Sizes at which edges go wrong: around a power of two, primes, a single element.
inline constexpr unsigned ragged_sizes[] = {1, 31, 32, 33, 61, 127, 128, 129, 255, 257, 509, 1021};

// Numbers in memory, for an expected result that asks for each of them many times.
struct Tabled {
  const float* numbers;
  __host__ __device__ float operator()(std::size_t i) const { return numbers[i]; }
};

class KernelTest : public DeviceUnderTest {
 protected:
  using DeviceUnderTest::DeviceUnderTest;

  template <class T>
  static constexpr Generator<T> values{7};
  template <class T>
  static DeviceBuffer<T> input(std::size_t elements) {
    DeviceBuffer<T> buffer(elements);
    if (elements > 0) fill_random(buffer.data(), elements, values<T>);
    return buffer;
  }
  // What `input` holds, as numbers.
  template <class T>
  static DeviceBuffer<float> numbers(std::size_t elements) {
    std::vector<float> all(elements);
    for (std::size_t i = 0; i < elements; ++i) all[i] = static_cast<float>(values<T>(i));
    return DeviceBuffer<float>(all);
  }
  template <class T>
  static DeviceBuffer<T> output(std::size_t elements) {
    DeviceBuffer<T> buffer(elements);
    if (elements > 0) buffer.set(poison_byte);
    return buffer;
  }

  // Waits for what was launched; every element of `out` must be what `expected` says, an object
  // that the device can call.
  template <class T, class Expected>
  void expect_elements(const DeviceBuffer<T>& out, Expected expected, double relative = 0,
                       double absolute = 0) {
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    EXPECT_EQ(check_elements(out.data(), out.size(), expected, relative, absolute, false), "");
  }

  // Major and minor number.
  static std::pair<int, int> compute_capability() {
    return {device_attribute(cudaDevAttrComputeCapabilityMajor),
            device_attribute(cudaDevAttrComputeCapabilityMinor)};
  }
  // Why this device does not run what begins at compute capability `first`; "" if it does.
  static std::string too_old_for(std::pair<int, int> first) {
    const auto [major, minor] = compute_capability();
    if (std::pair(major, minor) >= first) return "";
    return "needs compute capability " + std::to_string(first.first) + "." +
           std::to_string(first.second) + "; this is " + std::to_string(major) + "." +
           std::to_string(minor);
  }
  // Whether a block may have so much dynamic shared memory; a row that needs more is skipped.
  static bool has_shared_bytes(std::size_t bytes) {
    return bytes <=
           static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  }
};

}  // namespace gpubench
