// Several GPUs of one model: whose stream, event, memory and engine is whose, and who may read
// whose.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "harness/platform/model/engine/emulator.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench::model {
namespace {

constexpr std::size_t GiB = std::size_t{1} << 30;

[[maybe_unused]] __global__ void work() {}

class DevicesTest : public testing::Test {
 protected:
  DevicesTest() {
    RuntimeOptions options;
    options.devices = 16;
    options.node_devices = 8;
    install_runtime(std::make_unique<Runtime>(device_, memory_, executor_, options));
  }
  ~DevicesTest() override { install_runtime(nullptr); }

  static cudaStream_t stream_on(int device) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    return stream;
  }
  static cudaError_t launch(cudaStream_t stream) {
    cudaLaunchConfig_t config;
    config.gridDim = dim3(1 << 16);
    config.blockDim = dim3(256);
    config.stream = stream;
    return cudaLaunchKernelEx(&config, work);
  }
  static void* allocate_on(int device, std::size_t bytes) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
    return memory;
  }

  const DeviceSpec device_ = device_spec("h200-sxm");
  DeviceMemory memory_{4 * GiB, 16};
  FakeExecutor executor_;
};

TEST_F(DevicesTest, AHostCountsItsOwnAndTakesThoseOfOtherNodes) {
  int count = 0, current = -1;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 8);
  EXPECT_EQ(cudaSetDevice(15), cudaSuccess);
  ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 15);
  EXPECT_EQ(cudaSetDevice(16), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
}

TEST_F(DevicesTest, KernelsOnTwoDevicesRunAtOnceAndOnOneInTurn) {
  const cudaStream_t first = stream_on(0), second = stream_on(1);
  ASSERT_EQ(launch(second), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(launch(first), cudaSuccess);
  const cudaStream_t third = stream_on(0);
  ASSERT_EQ(launch(third), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto records = current_runtime()->records();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_LT(records[1].start, records[0].end);
  // Part of what an empty kernel takes between two events passes beside the next one.
  const double lead = device_["kernel_floor_seconds"] - device_["launch_stream_seconds"];
  EXPECT_GE(records[2].start, records[1].end - lead);
}

TEST_F(DevicesTest, AStreamTakesKernelsAndEventsOfItsOwnDeviceOnly) {
  const cudaStream_t on_one = stream_on(1);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(launch(on_one), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, on_one), cudaErrorInvalidResourceHandle);
  // To wait for another device's event is what they are for.
  ASSERT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(on_one, event), cudaSuccess);
}

TEST_F(DevicesTest, EachHasMemoryOfItsOwn) {
  void* all = allocate_on(0, 4 * GiB);
  EXPECT_NE(all, nullptr);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, GiB), cudaErrorMemoryAllocation);
  EXPECT_NE(allocate_on(1, 3 * GiB), nullptr);
  std::size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, GiB);
  EXPECT_EQ(cudaFree(all), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 4 * GiB);
}

TEST_F(DevicesTest, ACopyToAPeerCrossesTheLink) {
  constexpr std::size_t bytes = GiB;
  void* const from = allocate_on(0, bytes);
  void* const to = allocate_on(3, bytes);
  void* const far = allocate_on(8, bytes);
  const cudaStream_t stream = stream_on(0);
  ASSERT_EQ(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  const Record copy = current_runtime()->records().back();
  EXPECT_EQ(copy.name, "copy to peer");
  EXPECT_NEAR(copy.end - copy.start, 1.073741824e9 / 3.96e11, 1e-5);
  EXPECT_EQ(cudaMemcpyAsync(far, from, bytes, cudaMemcpyDeviceToDevice, stream),
            cudaErrorInvalidValue);
}

TEST_F(DevicesTest, PeersAreThoseOfTheNode) {
  int can = -1;
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 7), cudaSuccess);
  EXPECT_EQ(can, 1);
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 8), cudaSuccess);
  EXPECT_EQ(can, 0);
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 2, 2), cudaSuccess);
  EXPECT_EQ(can, 0);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_FALSE(current_runtime()->may_access(0, 7));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(7, 0), cudaSuccess);
  EXPECT_TRUE(current_runtime()->may_access(0, 7));
  EXPECT_FALSE(current_runtime()->may_access(7, 0));
  EXPECT_EQ(cudaDeviceEnablePeerAccess(7, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(8, 0), cudaErrorPeerAccessUnsupported);
}

TEST_F(DevicesTest, TheDriverReportsWhatConnectsThem) {
  int value = -1;
  ASSERT_EQ(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrPerformanceRank, 0, 7), cudaSuccess);
  EXPECT_EQ(value, 0);
  ASSERT_EQ(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrNativeAtomicSupported, 0, 7),
            cudaSuccess);
  EXPECT_EQ(value, 1);
  ASSERT_EQ(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrNativeAtomicSupported, 0, 8),
            cudaSuccess);
  EXPECT_EQ(value, 0) << "on another node";
  EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrPerformanceRank, 3, 3),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrPerformanceRank, 0, 16),
            cudaErrorInvalidDevice);
}

TEST_F(DevicesTest, IssuingToAnotherNodeIsItsOwnHostsTime) {
  const cudaStream_t here = stream_on(0), there = stream_on(8);
  const double start = current_runtime()->host_seconds();
  ASSERT_EQ(launch(there), cudaSuccess);
  EXPECT_DOUBLE_EQ(current_runtime()->host_seconds(), start);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(launch(here), cudaSuccess);
  EXPECT_GT(current_runtime()->host_seconds(), start);
}

}  // namespace
}  // namespace gpubench::model
