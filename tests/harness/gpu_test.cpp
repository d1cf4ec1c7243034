// The RAII layer over the CUDA runtime, on the model device.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/gpu/buffer.hpp"
#include "harness/gpu/check.hpp"
#include "harness/gpu/event.hpp"
#include "harness/gpu/graph.hpp"
#include "harness/gpu/launch.hpp"
#include "harness/gpu/stream.hpp"
#include "harness/model/runtime/runtime.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench {
namespace {

[[maybe_unused]] __global__ void add(int* to, int value) { *to += value; }

class GpuTest : public testing::Test {
 protected:
  GpuTest() {
    model::install_runtime(std::make_unique<model::Runtime>(device_, memory_, executor_));
  }
  ~GpuTest() override { model::install_runtime(nullptr); }

  const DeviceSpec device_ = device_spec("h200-sxm");
  model::DeviceMemory memory_{std::size_t{1} << 26};
  model::FakeExecutor executor_;
};

TEST_F(GpuTest, AFailedCheckNamesTheCallThePlaceAndTheReason) {
  try {
    CUDA_CHECK(cudaSetDevice(7));
    FAIL() << "no error";
  } catch (const CudaError& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), cudaErrorInvalidDevice);
    EXPECT_EQ(text.find("cudaSetDevice(7): invalid device ordinal (cudaErrorInvalidDevice, "), 0U)
        << text;
    EXPECT_NE(text.find("gpu_test.cpp:"), std::string::npos) << text;
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "reported once";
}

TEST_F(GpuTest, ErrorsThatMakeASkipAreToldApart) {
  const auto error = [](cudaError_t code) { return CudaError(code, "call", "place"); };
  EXPECT_TRUE(error(cudaErrorMemoryAllocation).is_out_of_memory());
  EXPECT_FALSE(error(cudaErrorMemoryAllocation).is_unsupported());
  EXPECT_TRUE(error(cudaErrorNotSupported).is_unsupported());
  EXPECT_TRUE(error(cudaErrorNoKernelImageForDevice).is_unsupported());
  EXPECT_FALSE(error(cudaErrorLaunchFailure).is_unsupported());
  EXPECT_TRUE(error(cudaErrorStreamCaptureInvalidated).is_capture_failure());
  EXPECT_FALSE(error(cudaErrorUnknown).is_capture_failure());
}

TEST_F(GpuTest, TooLittleMemorySaysHowMuchWasWantedAndFree) {
  const std::size_t wanted = memory_.capacity() + 4;
  try {
    const DeviceBuffer<std::int32_t> buffer(wanted / 4);
    FAIL() << "no error";
  } catch (const DeviceMemoryError& error) {
    EXPECT_TRUE(error.is_out_of_memory());
    EXPECT_EQ(error.wanted_bytes(), wanted);
    EXPECT_EQ(error.free_bytes(), memory_.capacity());
    EXPECT_NE(std::string(error.what())
                  .find(std::to_string(wanted) + " bytes, " + std::to_string(memory_.capacity()) +
                        " bytes free"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(DeviceBuffer<double>(std::numeric_limits<std::size_t>::max() / 2),
               std::length_error);
}

TEST_F(GpuTest, BuffersComeBackAsTheyWentAndGoWithTheirOwner) {
  std::vector<int> sent(1000);
  std::iota(sent.begin(), sent.end(), 0);
  {
    DeviceBuffer<int> first{std::span<const int>(sent)};
    DeviceBuffer<int> second(std::move(first));
    EXPECT_EQ(first.data(), nullptr);
    EXPECT_EQ(second.download(), sent);
    EXPECT_THROW(DeviceBuffer<int>(10).upload(sent), std::length_error);
    const PinnedBuffer<int> pinned(3);
    EXPECT_EQ(pinned.span().size(), 3U);
    EXPECT_EQ(pinned.device_data(), pinned.data());
    EXPECT_EQ(DeviceBuffer<int>(0).data(), nullptr);
    EXPECT_LT(memory_.free_bytes(), memory_.capacity());
  }
  EXPECT_EQ(memory_.free_bytes(), memory_.capacity());
}

TEST_F(GpuTest, LaunchesConvertArgumentsAndSayWhatWasRefused) {
  const std::vector<int> start{5};
  const DeviceBuffer<int> sum{std::span<const int>(start)};
  const Stream stream;
  launch(add, 1, 32, 0, stream, sum.data(), short{2});
  stream.synchronize();
  EXPECT_EQ(sum.download().front(), 7);
  launch(add, 1, 32, 100 * 1024, stream, sum.data(), 1);  // more than without asking
  stream.synchronize();
  EXPECT_EQ(sum.download().front(), 8);
  try {
    launch(add, dim3(0), dim3(32, 2), 0, stream, sum.data(), 2);
    FAIL() << "an empty grid is an error";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(std::string(error.what()).find("launch of 0 x 1 x 1 blocks of 32 x 2 x 1 threads"),
              0U)
        << error.what();
  }
}

TEST_F(GpuTest, EventsTimeAndOrder) {
  const Stream stream;
  const Stream other;
  const Event start;
  const Event end;
  const std::vector<int> zero{0};
  const DeviceBuffer<int> sum{std::span<const int>(zero)};
  start.record(stream);
  launch(add, 1, 32, 0, stream, sum.data(), 1);
  end.record(stream);
  end.hold(other);
  other.synchronize();
  EXPECT_GE(seconds_between(start, end), 10e-6);
}

TEST_F(GpuTest, GraphsReplayWhatWasCaptured) {
  const std::vector<int> zero{0};
  const DeviceBuffer<int> sum{std::span<const int>(zero)};
  const Stream stream;
  const Graph graph([&](cudaStream_t s) {
    launch(add, 1, 32, 0, s, sum.data(), 1);
    launch(add, 1, 32, 0, s, sum.data(), 10);
  });
  EXPECT_EQ(graph.node_count(), 2U);
  const ExecutableGraph executable(graph);
  executable.launch(stream);
  executable.launch(stream);
  stream.synchronize();
  EXPECT_EQ(sum.download().front(), 22);
}

TEST_F(GpuTest, AFailedCaptureLeavesTheDeviceUsable) {
  EXPECT_THROW(Graph([](cudaStream_t) { throw std::domain_error("of the body"); }),
               std::domain_error);
  try {
    const Graph graph([](cudaStream_t) { const DeviceBuffer<int> buffer(1); });
    FAIL() << "no error";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorStreamCaptureUnsupported);
  }
  EXPECT_EQ(DeviceBuffer<int>(1).size(), 1U);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace gpubench
