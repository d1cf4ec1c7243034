// Events, and gates that hold a stream, against CUDA's documented semantics.
#include <cuda.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "tests/model/runtime_fixture.hpp"

namespace gpubench::model {
namespace {

using namespace std::chrono_literals;

TEST_F(RuntimeTest, EventsMeasureWhatLiesBetweenThem) {
  const cudaStream_t s = stream();
  const int* gate = device_int(0);
  const cudaEvent_t start = event();
  const cudaEvent_t end = event();
  ASSERT_EQ(wait_value(s, gate, 1), CUDA_SUCCESS);
  ASSERT_EQ(cudaEventRecord(start, s), cudaSuccess);
  ASSERT_EQ(launch(s, 1, small), cudaSuccess);
  ASSERT_EQ(launch(s, 1, large), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, s), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(end), cudaErrorNotReady);
  float unused = 0;
  EXPECT_EQ(cudaEventElapsedTime(&unused, start, end), cudaErrorNotReady);
  ASSERT_EQ(write_value(stream(), gate, 1), CUDA_SUCCESS);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(end), cudaSuccess);
  EXPECT_NEAR(elapsed(start, end), 60e-6, nanosecond);
}

TEST_F(RuntimeTest, AnEventMarksTheEndOfAShortKernelNotThePaceOfTheFrontEnd) {
  const cudaStream_t s = stream();
  const int* gate = device_int(0);
  const std::array<cudaEvent_t, 4> marks{event(), event(), event(), event()};
  ASSERT_EQ(wait_value(s, gate, 1), CUDA_SUCCESS);
  for (int sample = 0; sample < 2; ++sample) {
    ASSERT_EQ(cudaEventRecord(marks[2 * sample], s), cudaSuccess);
    ASSERT_EQ(launch(s, 1, tiny), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(marks[2 * sample + 1], s), cudaSuccess);
  }
  ASSERT_EQ(write_value(stream(), gate, 1), CUDA_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_NEAR(elapsed(marks[0], marks[1]), 0.1e-6, nanosecond);
  EXPECT_NEAR(elapsed(marks[2], marks[3]), 0.1e-6, nanosecond);
  EXPECT_NEAR(elapsed(marks[0], marks[2]), figure("launch_stream_seconds"), nanosecond);
}

TEST_F(RuntimeTest, PollingAnEventMakesTimePass) {
  const cudaStream_t s = stream();
  const cudaEvent_t end = event();
  ASSERT_EQ(launch(s, 1, large), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, s), cudaSuccess);
  int polls = 0;
  while (cudaEventQuery(end) == cudaErrorNotReady && polls < 1000) ++polls;
  EXPECT_GT(polls, 1);
  EXPECT_LT(polls, 1000);
}

TEST_F(RuntimeTest, AWaitingStreamStartsWhereTheEventIs) {
  const cudaStream_t first = stream();
  const cudaStream_t second = stream();
  const cudaEvent_t between = event();
  ASSERT_EQ(launch(first, 1, large), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(between, first), cudaSuccess);
  ASSERT_EQ(launch(first, 1, large), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, between), cudaSuccess);
  ASSERT_EQ(launch(second, 1, small), cudaSuccess);
  EXPECT_DOUBLE_EQ(named("small")[0].start, named("large")[0].end);
}

TEST_F(RuntimeTest, EventsThatMeasureNothing) {
  const cudaEvent_t never = event();
  const cudaEvent_t recorded = event();
  cudaEvent_t untimed = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(recorded), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(untimed), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  float unused = 0;
  EXPECT_EQ(cudaEventElapsedTime(&unused, never, recorded), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&unused, recorded, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventQuery(never), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(never), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream(), never), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(never), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(never), cudaErrorInvalidResourceHandle);
}

// --- gates ---

TEST_F(RuntimeTest, AGateHoldsItsStreamUntilTheValueIsWritten) {
  const int* gate = device_int(0);
  const cudaStream_t held = stream();
  const cudaStream_t opener = stream();
  ASSERT_EQ(wait_value(held, gate, 1), CUDA_SUCCESS);
  ASSERT_EQ(launch(held, 1, small), cudaSuccess);
  ASSERT_EQ(launch(opener, 1, large), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(opener), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(held), cudaErrorNotReady);
  ASSERT_EQ(write_value(opener, gate, 1), CUDA_SUCCESS);
  const auto opened = named("write value");
  ASSERT_EQ(opened.size(), 1U);
  EXPECT_DOUBLE_EQ(named("small")[0].start, opened[0].end);
}

TEST_F(RuntimeTest, AnOpenGateCostsNothing) {
  const int* gate = device_int(5);
  const cudaStream_t s = stream();
  for (const auto& [flags, value] :
       {std::pair{CU_STREAM_WAIT_VALUE_GEQ, 4U}, std::pair{CU_STREAM_WAIT_VALUE_EQ, 5U},
        std::pair{CU_STREAM_WAIT_VALUE_AND, 4U}}) {
    ASSERT_EQ(wait_value(s, gate, value, static_cast<unsigned>(flags)), CUDA_SUCCESS);
    EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  }
}

TEST_F(RuntimeTest, AnotherHostThreadOpensAGateInMappedMemory) {
  std::uint32_t* gate = nullptr;
  ASSERT_EQ(cudaHostAlloc(&gate, sizeof *gate, cudaHostAllocMapped), cudaSuccess);
  *gate = 0;
  const cudaStream_t s = stream();
  ASSERT_EQ(wait_value(s, gate, 1), CUDA_SUCCESS);
  ASSERT_EQ(launch(s, 1, small), cudaSuccess);
  std::thread opener([gate] {
    std::this_thread::sleep_for(20ms);
    __atomic_store_n(gate, 1U, __ATOMIC_RELEASE);
  });
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  opener.join();
  EXPECT_EQ(executor_.executed, 1U);
}

TEST_F(RuntimeTest, AnotherHostThreadOpensAGateWithACall) {
  const int* gate = device_int(0);
  const cudaStream_t s = stream();
  const cudaStream_t second = stream();
  ASSERT_EQ(wait_value(s, gate, 1), CUDA_SUCCESS);
  ASSERT_EQ(launch(s, 1, small), cudaSuccess);
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(write_value(second, gate, 1), CUDA_SUCCESS);
  });
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  opener.join();
  EXPECT_EQ(executor_.executed, 1U);
}

TEST_F(RuntimeTest, AGateThatNobodyOpensIsReported) {
  install({.deadlock_after = 50ms});
  const int* gate = device_int(0);
  const cudaStream_t s = stream();
  ASSERT_EQ(wait_value(s, gate, 1), CUDA_SUCCESS);
  ASSERT_EQ(launch(s, 1, small), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorLaunchTimeout);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("stream 1 waits for 'value at "), std::string::npos) << lines_[0];
  EXPECT_NE(lines_[0].find("within 0.05 s"), std::string::npos) << lines_[0];
  EXPECT_EQ(executor_.executed, 0U);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout) << "it sticks, as CUDA says";
}

TEST_F(RuntimeTest, APageableCopyBehindAGateBlocksTheHost) {
  install({.deadlock_after = 50ms});
  int* const place = device_int(0);
  const int* gate = device_int(0);
  const cudaStream_t s = stream();
  const int host = 3;
  ASSERT_EQ(wait_value(s, gate, 1), CUDA_SUCCESS);
  EXPECT_EQ(cudaMemcpyAsync(place, &host, sizeof host, cudaMemcpyHostToDevice, s),
            cudaErrorLaunchTimeout);
}

TEST_F(RuntimeTest, GatesNeedAWordTheDeviceCanReach) {
  const int host = 0;
  const auto* gate = reinterpret_cast<const char*>(device_int(0));
  EXPECT_EQ(wait_value(stream(), &host, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(wait_value(stream(), gate + 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(write_value(stream(), &host, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(RuntimeTest, EntryPointsAreThereOrSaidNotToBe) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status{};
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuStreamWaitValue64", &function, 12000,
                                             cudaEnableDefault, &status),
            cudaSuccess);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &function, 99000,
                                             cudaEnableDefault, &status),
            cudaErrorInvalidValue);
  install({.stream_memory_operations = false});
  EXPECT_EQ(entry_point("cuStreamWaitValue32"), nullptr);
}

TEST_F(RuntimeTest, WhoSleepsForAnEventNoticesLater) {
  const auto waited_for = [&](unsigned flags) {
    cudaEvent_t end = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&end, flags), cudaSuccess);
    const double begin = runtime().host_seconds();
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);  // which nobody has recorded
    const double waited = runtime().host_seconds() - begin;
    EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
    return waited;
  };
  EXPECT_NEAR(waited_for(cudaEventDisableTiming), figure("sync_host_seconds"), 1e-9);
  EXPECT_NEAR(waited_for(cudaEventDisableTiming | cudaEventBlockingSync),
              figure("sync_block_host_seconds"), 1e-9);
}

}  // namespace
}  // namespace gpubench::model
