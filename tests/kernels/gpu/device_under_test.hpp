// The GPU under a test of kernels: the one that main() chose (gpu/main.cpp). (The model's answer to
// the same name: tests/kernels/model/device_under_test.hpp.)
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/cuda/check.hpp"

namespace gpubench {

class DeviceUnderTest : public testing::Test {
 protected:
  // A test that needs `devices` GPUs is skipped where there are fewer.
  explicit DeviceUnderTest(int devices = 1) : devices_(devices) {}

  void SetUp() override {
    if (!lost_in_.empty()) GTEST_SKIP() << "the device was lost in " << lost_in_;
    static_cast<void>(cudaGetLastError());  // what an earlier test left is that test's
    int count = 0;
    CUDA_CHECK(cudaGetDeviceCount(&count));
    if (count < devices_) {
      GTEST_SKIP() << "needs " << devices_ << " GPUs; there " << (count == 1 ? "is " : "are ")
                   << count;
    }
  }
  // What a kernel does wrong may show only now. After some errors, such as an access to no memory,
  // every later call of the process fails too: those of other tests say nothing.
  void TearDown() override {
    if (!lost_in_.empty()) return;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    static_cast<void>(cudaGetLastError());
    if (cudaDeviceSynchronize() == cudaSuccess) return;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    lost_in_ = std::string(test.test_suite_name()) + "." + test.name();
  }

  const std::string diagnostic{};  // CUDA's error says what there is to say

 private:
  static inline std::string lost_in_;
  int devices_;
};

}  // namespace gpubench
