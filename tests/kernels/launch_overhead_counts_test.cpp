#include "kernels/launch_overhead.cuh"

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace launch_overhead;

class LaunchOverheadCounts : public KernelTest {};

TEST_F(LaunchOverheadCounts, AnEmptyKernelTouchesNothing) {
  launch(empty, 1, threads, 0, nullptr, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_TRUE(emulator.runs().back().profile.footprints.empty());
  EXPECT_EQ(emulator.runs().back().prediction.seconds, device["kernel_floor_seconds"]);
}

}  // namespace
}  // namespace gpubench
