// The RAII layer over the CUDA runtime, on whatever device there is.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/check.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/graph.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/managed.hpp"
#include "harness/cuda/stream.hpp"
#include "tests/device/waiting.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

[[maybe_unused]] __global__ void add(int* to, int value) {
  if (threadIdx.x == 0) *to += value;
}
[[maybe_unused]] __global__ void copy_one(const int* from, int* to) {
  if (threadIdx.x == 0) *to = *from;
}

class GpuTest : public KernelTest {
 protected:
  struct Memory {
    std::size_t free = 0, total = 0;
  };
  static Memory memory_now() {
    Memory now;
    CUDA_CHECK(cudaMemGetInfo(&now.free, &now.total));
    return now;
  }
  // There before what any stream does: a copy may end after the call that the host waited for.
  static DeviceBuffer<int> one_int(int value) {
    DeviceBuffer<int> one(std::vector<int>{value});
    CUDA_CHECK(cudaDeviceSynchronize());
    return one;
  }
};

TEST_F(GpuTest, AFailedCheckNamesTheCallThePlaceAndTheReason) {
  try {
    CUDA_CHECK(cudaSetDevice(1000));
    FAIL() << "no error";
  } catch (const CudaError& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), cudaErrorInvalidDevice);
    EXPECT_EQ(text.find("cudaSetDevice(1000): invalid device ordinal (cudaErrorInvalidDevice, "),
              0U)
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
  const std::size_t before = memory_now().free, wanted = memory_now().total + 4;
  try {
    const DeviceBuffer<std::int32_t> buffer(wanted / 4);
    FAIL() << "no error";
  } catch (const DeviceMemoryError& error) {
    EXPECT_TRUE(error.is_out_of_memory());
    EXPECT_EQ(error.wanted_bytes(), wanted / 4 * 4);
    EXPECT_GT(error.free_bytes(), before / 2) << "the driver itself takes some in between";
    EXPECT_LT(error.free_bytes(), wanted);
    EXPECT_NE(std::string(error.what())
                  .find(std::to_string(error.wanted_bytes()) + " bytes, " +
                        std::to_string(error.free_bytes()) + " bytes free"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "reported once";
  EXPECT_THROW(DeviceBuffer<double>(std::numeric_limits<std::size_t>::max() / 2),
               std::length_error);
}

TEST_F(GpuTest, BuffersComeBackAsTheyWent) {
  std::vector<int> sent(1000);
  std::iota(sent.begin(), sent.end(), 0);
  DeviceBuffer<int> first{std::span<const int>(sent)};
  DeviceBuffer<int> second(std::move(first));
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(second.download(), sent);
  EXPECT_THROW(DeviceBuffer<int>(10).upload(sent), std::length_error);
  EXPECT_EQ(DeviceBuffer<int>(0).data(), nullptr);
}

TEST_F(GpuTest, BuffersGoWithTheirOwner) {
  constexpr std::size_t size = std::size_t{1} << 28;
  const std::size_t before = memory_now().free;
  {
    DeviceBuffer<char> first(size);
    const DeviceBuffer<char> second(std::move(first));
    EXPECT_LE(memory_now().free, before - size);
  }
  EXPECT_GE(memory_now().free, before);
}

TEST_F(GpuTest, PinnedMemoryIsTheDevicesToo) {
  const PinnedBuffer<int> pinned(3);
  EXPECT_EQ(pinned.span().size(), 3U);
  EXPECT_EQ(pinned.device_data(), pinned.data());
  pinned[0] = 5;
  pinned[1] = pinned[2] = 0;
  launch(copy_one, 1, 32, 0, nullptr, pinned.device_data(), pinned.device_data() + 1);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(pinned[1], 5);
  EXPECT_EQ(pinned[2], 0);
}

TEST_F(GpuTest, ManagedMemoryFollowsThePrefetches) {
  if (device_attribute(cudaDevAttrConcurrentManagedAccess) == 0) {
    GTEST_SKIP() << "this system cannot prefetch managed memory";
  }
  constexpr std::size_t n = (1 << 18) + 7;
  const ManagedBuffer<int> both(n);
  for (std::size_t i = 0; i < n; ++i) both[i] = static_cast<int>(i);
  const Stream stream;
  for (const int round : {1, 2}) {
    both.prefetch_to_device(stream, n * sizeof(int));
    launch(add, 1, 32, 0, stream, both.data() + (n - 1), 1);
    both.prefetch_to_host(stream, n * sizeof(int));
    stream.synchronize();
    EXPECT_EQ(both[n - 1], static_cast<int>(n) - 1 + round);
    EXPECT_EQ(both[n / 2], static_cast<int>(n / 2));
  }
}

TEST_F(GpuTest, LaunchesConvertArgumentsAndSayWhatWasRefused) {
  const auto sum = one_int(5);
  const Stream stream;
  launch(add, 1, 32, 0, stream, sum.data(), short{2});
  stream.synchronize();
  EXPECT_EQ(sum.download().front(), 7);
  launch(add, 1, 32, 60 * 1024, stream, sum.data(), 1);  // more than without asking
  stream.synchronize();
  EXPECT_EQ(sum.download().front(), 8);
  try {
    launch(add, dim3(0), dim3(32, 2), 0, stream, sum.data(), 2);
    FAIL() << "an empty grid is an error";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidValue);
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
  const auto number = one_int(0), seen = one_int(0);
  launch_set_late(stream, number.data(), 1);
  launch(copy_one, 1, 32, 0, other, seen.data(), seen.data());
  CUDA_CHECK(cudaDeviceSynchronize());  // both are loaded, which would order them
  start.record(stream);
  launch_set_late(stream, number.data(), 7);
  end.record(stream);
  end.hold(other);
  launch(copy_one, 1, 32, 0, other, number.data(), seen.data());
  other.synchronize();
  EXPECT_TRUE(end.has_happened());
  EXPECT_EQ(seen.download().front(), 7);
  EXPECT_GE(seconds_between(start, end), least_chain_seconds);
}

TEST_F(GpuTest, GraphsReplayWhatWasCaptured) {
  const auto sum = one_int(0);
  const Stream stream;
  launch(add, 1, 32, 0, stream, sum.data(), 0);
  stream.synchronize();
  const Graph graph([&](cudaStream_t s) {
    launch(add, 1, 32, 0, s, sum.data(), 1);
    launch(add, 1, 32, 0, s, sum.data(), 10);
  });
  EXPECT_EQ(sum.download().front(), 0) << "captured, not carried out";
  EXPECT_EQ(graph.operation_count(), 2U);
  const ExecutableGraph executable(graph);
  executable.launch(stream);
  executable.launch(stream);
  stream.synchronize();
  EXPECT_EQ(sum.download().front(), 22);
}

TEST_F(GpuTest, GraphsThatABodyLaunchesAreCountedAndLeftOut) {
  const auto sum = one_int(0);
  const ExecutableGraph inner([&](cudaStream_t s) {
    launch(add, 1, 32, 0, s, sum.data(), 1);
    launch(add, 1, 32, 0, s, sum.data(), 10);
  });
  const auto body = [&](cudaStream_t s) {
    inner.launch(s);
    launch(add, 1, 32, 0, s, sum.data(), 100);
  };
  const Graph counted(body);
  EXPECT_EQ(counted.operation_count(), 3U);
  EXPECT_FALSE(counted.is_whole());
  EXPECT_THROW(ExecutableGraph{counted}, std::logic_error);
  const Stream stream;
  body(stream);
  stream.synchronize();
  EXPECT_EQ(sum.download().front(), 111);
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
