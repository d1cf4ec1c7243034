// Whether the device file and the driver speak of the same GPU.
#include "harness/platform/platform.hpp"

#include "harness/devices/derive.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

class PlatformOnGpu : public KernelTest {};

TEST_F(PlatformOnGpu, TheDeviceFileSaysWhatTheDriverSays) {
  int ordinal = 0;
  CUDA_CHECK(cudaGetDevice(&ordinal));
  const auto platform = open_platform(std::to_string(ordinal));
  if (!platform->has_device_file()) GTEST_SKIP() << "no device file for this GPU";
  const DeviceSpec& file = platform->device();
  const auto expect = [&](const char* figure, cudaDeviceAttr attribute) {
    EXPECT_EQ(file.find(figure).value_or(-1), device_attribute(attribute)) << figure;
  };
  expect("sm_count", cudaDevAttrMultiProcessorCount);
  expect("max_threads_per_sm", cudaDevAttrMaxThreadsPerMultiProcessor);
  expect("max_blocks_per_sm", cudaDevAttrMaxBlocksPerMultiprocessor);
  expect("registers_per_sm", cudaDevAttrMaxRegistersPerMultiprocessor);
  expect("shared_bytes_per_sm", cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  expect("shared_bytes_per_block_optin", cudaDevAttrMaxSharedMemoryPerBlockOptin);
  expect("shared_reserved_bytes_per_block", cudaDevAttrReservedSharedMemoryPerBlock);
  EXPECT_EQ(file.compute_capability(), compute_capability());
}

}  // namespace
}  // namespace gpubench
