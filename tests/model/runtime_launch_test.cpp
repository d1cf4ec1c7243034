// Launches and streams, against CUDA's documented semantics.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>

#include "tests/model/runtime_fixture.hpp"

namespace gpubench::model {
namespace {

TEST_F(RuntimeTest, KernelsOfOneStreamFollowEachOther) {
  const cudaStream_t s = stream();
  ASSERT_EQ(launch(s, 1, small), cudaSuccess);
  ASSERT_EQ(launch(s, 1, small), cudaSuccess);
  const auto kernels = named("small");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_NEAR(kernels[0].end - kernels[0].start, 10e-6, nanosecond);
  EXPECT_DOUBLE_EQ(kernels[1].start, kernels[0].end);
}

TEST_F(RuntimeTest, AKernelStartsALatencyAfterItsLaunchAndTheHostGoesOnAtOnce) {
  const cudaStream_t s = stream();
  const double before = runtime().host_seconds();
  ASSERT_EQ(launch(s, 1, large), cudaSuccess);
  EXPECT_NEAR(runtime().host_seconds() - before, figure("launch_host_seconds"), nanosecond);
  EXPECT_NEAR(named("large")[0].start - before, figure("launch_latency_seconds"), nanosecond);
}

TEST_F(RuntimeTest, SmallGridsOfTwoStreamsOverlap) {
  ASSERT_EQ(launch(stream(), 1, large), cudaSuccess);
  ASSERT_EQ(launch(stream(), 1, large), cudaSuccess);
  const auto kernels = named("large");
  EXPECT_LT(kernels[1].start, kernels[0].end);
}

TEST_F(RuntimeTest, FullGridsOfTwoStreamsTakeTurns) {
  ASSERT_EQ(launch(stream(), full_grid(), large), cudaSuccess);
  ASSERT_EQ(launch(stream(), full_grid(), large), cudaSuccess);
  const auto kernels = named("large");
  EXPECT_DOUBLE_EQ(kernels[1].start, kernels[0].end);
}

TEST_F(RuntimeTest, SmallGridsThatKeepTheSameUnitBusyTakeTurns) {
  executor_.utilisation = {{address(large), 0.7}, {address(small), 0.3}};
  for (int run = 0; run < 2; ++run) {  // the first shows what they are like
    runtime().clear_records();
    for (int i = 0; i < 2; ++i) ASSERT_EQ(launch(stream(), 1, large), cudaSuccess);
    ASSERT_EQ(launch(stream(), 1, small), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  const auto kernels = named("large");
  EXPECT_DOUBLE_EQ(kernels[1].start, kernels[0].end) << "seven tenths and seven tenths";
  EXPECT_LT(named("small")[0].start, kernels[0].end) << "three tenths fit beside seven";
}

// What waits for the device when it becomes free, and who gets it.
TEST_F(RuntimeTest, APrioritisedStreamGoesFirstAmongThoseThatWait) {
  int least = 0, greatest = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  ASSERT_LT(greatest, least);
  for (const int priority : {least, greatest, greatest - 1, least + 1}) {
    cudaStream_t urgent = nullptr;
    ASSERT_EQ(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, priority), cudaSuccess);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(launch(stream(), full_grid(), large), cudaSuccess);
    ASSERT_EQ(launch(urgent, full_grid(), small), cudaSuccess);
    const auto backlog = named("large");
    const std::size_t before = priority < least ? 0 : 2;  // out of range: the nearest that exists
    EXPECT_DOUBLE_EQ(named("small")[0].start, backlog[before].end) << priority;
    runtime().clear_records();
  }
}

TEST_F(RuntimeTest, PrioritiesDoNotReorderCopies) {
  cudaStream_t urgent = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -1), cudaSuccess);
  constexpr std::size_t bytes = std::size_t{8} << 20;
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
  std::array<void*, 3> devices{};
  for (void*& device : devices) ASSERT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
  std::size_t next = 0;
  for (const cudaStream_t s : {stream(), stream(), urgent}) {
    void* const device = devices[next++];
    ASSERT_EQ(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, s), cudaSuccess);
  }
  EXPECT_EQ(named("copy to device")[2].stream, 1) << "the first that was made, the last to copy";
  EXPECT_EQ(named("copy to device")[2].bytes, bytes);
}

TEST_F(RuntimeTest, WhatIsReadyFirstGetsTheEngineFirst) {
  // Issued first, but held back by the long chain before it.
  const cudaStream_t late = stream();
  ASSERT_EQ(launch(late, full_grid(), large), cudaSuccess);
  ASSERT_EQ(launch(late, full_grid(), large), cudaSuccess);
  const cudaStream_t early = stream();
  ASSERT_EQ(launch(early, full_grid(), small), cudaSuccess);
  const auto large_ones = named("large");
  EXPECT_DOUBLE_EQ(named("small")[0].start, large_ones[0].end);
  EXPECT_DOUBLE_EQ(large_ones[1].start, named("small")[0].end);
}

TEST_F(RuntimeTest, WhatFitsNowDoesNotWaitForWhatFitsLater) {
  const dim3 half(full_grid().x / 2);
  ASSERT_EQ(launch(stream(), half, large), cudaSuccess);
  ASSERT_EQ(launch(stream(), full_grid(), small), cudaSuccess);
  ASSERT_EQ(launch(stream(), 1, tiny), cudaSuccess);
  EXPECT_DOUBLE_EQ(named("small")[0].start, named("large")[0].end);
  EXPECT_LT(named("tiny")[0].end, named("large")[0].end);
}

TEST_F(RuntimeTest, ShortKernelsAreSpacedAsTheFrontEndIs) {
  const cudaStream_t s = stream();
  const int* gate = device_int(0);
  ASSERT_EQ(wait_value(s, gate, 1), CUDA_SUCCESS);  // so that the host's pace does not show
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch(s, 1, tiny), cudaSuccess);
  ASSERT_EQ(write_value(stream(), gate, 1), CUDA_SUCCESS);
  const auto kernels = named("tiny");
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_NEAR(kernels[1].start - kernels[0].start, figure("launch_stream_seconds"), nanosecond);
  EXPECT_NEAR(kernels[2].start - kernels[1].start, figure("launch_stream_seconds"), nanosecond);
}

TEST_F(RuntimeTest, WhatMayComeEarlyComesAsSoonAsTheHostLetsIt) {
  executor_.seconds[address(tiny)] = figure("kernel_floor_seconds");
  const cudaStream_t s = stream();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch_early(s, tiny), cudaSuccess);
  const auto kernels = named("tiny");
  EXPECT_NEAR(kernels[1].start - kernels[0].start, figure("launch_host_seconds"), nanosecond);
  EXPECT_LT(figure("launch_host_seconds"), figure("launch_stream_seconds"));
}

TEST(EarlyLaunches, NeedADeviceThatHasThem) {
  const DeviceSpec ampere = device_spec("a100-80-sxm");
  DeviceMemory memory{std::size_t{1} << 20};
  FakeExecutor executor;
  install_runtime(std::make_unique<Runtime>(ampere, memory, executor));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config;
  config.gridDim = config.blockDim = dim3(1);
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_EQ(cudaLaunchKernelEx(&config, tiny), cudaErrorNotSupported);
  attribute.val.programmaticStreamSerializationAllowed = 0;
  EXPECT_EQ(cudaLaunchKernelEx(&config, tiny), cudaSuccess);
  attribute.id = static_cast<cudaLaunchAttributeID>(7);
  EXPECT_EQ(cudaLaunchKernelEx(&config, tiny), cudaErrorInvalidValue);
  install_runtime(nullptr);
}

TEST_F(RuntimeTest, WithoutAGateTheHostSetsThePace) {
  const cudaStream_t s = stream();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(launch(s, 1, tiny), cudaSuccess);
  const auto kernels = named("tiny");
  EXPECT_NEAR(kernels[1].start - kernels[0].start,
              std::max(figure("launch_host_seconds"), figure("launch_stream_seconds")), nanosecond);
}

TEST_F(RuntimeTest, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  const cudaStream_t blocking = stream(cudaStreamDefault);
  ASSERT_EQ(launch(blocking, 1, large), cudaSuccess);
  ASSERT_EQ(launch(nullptr, 1, small), cudaSuccess);
  ASSERT_EQ(launch(blocking, 1, large), cudaSuccess);
  const auto large_ones = named("large");
  const auto between = named("small");
  EXPECT_DOUBLE_EQ(between[0].start, large_ones[0].end);
  EXPECT_DOUBLE_EQ(large_ones[1].start, between[0].end);
}

TEST_F(RuntimeTest, TheLegacyStreamHasAHandleToo) {
  ASSERT_EQ(launch(cudaStreamLegacy, 1, large), cudaSuccess);
  ASSERT_EQ(launch(nullptr, 1, small), cudaSuccess);
  EXPECT_DOUBLE_EQ(named("small")[0].start, named("large")[0].end);
  EXPECT_EQ(named("large")[0].stream, 0);
  EXPECT_EQ(cudaStreamDestroy(cudaStreamLegacy), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeTest, APerThreadDefaultStreamWaitsForTheLegacyStreamAndForNoOther) {
  const cudaStream_t blocking = stream(cudaStreamDefault);
  ASSERT_EQ(launch(blocking, 1, large), cudaSuccess);
  ASSERT_EQ(launch(cudaStreamPerThread, 1, small), cudaSuccess);
  EXPECT_LT(named("small")[0].start, named("large")[0].end);
  runtime().clear_records();

  ASSERT_EQ(launch(nullptr, 1, large), cudaSuccess);
  ASSERT_EQ(launch(cudaStreamPerThread, 1, small), cudaSuccess);
  ASSERT_EQ(launch(nullptr, 1, large), cudaSuccess);
  EXPECT_DOUBLE_EQ(named("small")[0].start, named("large")[0].end);
  EXPECT_DOUBLE_EQ(named("large")[1].start, named("small")[0].end);
  EXPECT_EQ(cudaStreamDestroy(cudaStreamPerThread), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeTest, EveryThreadHasADefaultStreamOfItsOwn) {
  ASSERT_EQ(launch(cudaStreamPerThread, 1, large), cudaSuccess);
  std::thread([] { EXPECT_EQ(launch(cudaStreamPerThread, 1, small), cudaSuccess); }).join();
  ASSERT_EQ(launch(cudaStreamPerThread, 1, tiny), cudaSuccess);
  EXPECT_LT(named("small")[0].start, named("large")[0].end) << "another thread's";
  EXPECT_GE(named("tiny")[0].start, named("large")[0].end) << "the same as before";
  EXPECT_EQ(named("tiny")[0].stream, named("large")[0].stream);
  EXPECT_NE(named("small")[0].stream, named("large")[0].stream);
}

TEST_F(RuntimeTest, TheHostsCallsAreRememberedAndPollsAreOne) {
  const cudaStream_t s = stream();
  const cudaEvent_t done = event();
  runtime().clear_records();
  ASSERT_EQ(launch(s, 1, large), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(done, s), cudaSuccess);
  std::size_t polls = 1;
  while (cudaEventQuery(done) == cudaErrorNotReady) ++polls;
  const auto calls = runtime().host_records();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_STREQ(calls[0].name, "cudaLaunchKernelEx");
  EXPECT_STREQ(calls[1].name, "cudaEventRecord");
  EXPECT_STREQ(calls[2].name, "cudaEventQuery");
  EXPECT_EQ(calls[2].calls, polls);
  EXPECT_GT(polls, 10U);
  EXPECT_DOUBLE_EQ(calls[1].start, calls[0].end);
  EXPECT_NEAR(calls[2].end - calls[2].start, polls * figure("launch_host_seconds"), nanosecond);
  EXPECT_DOUBLE_EQ(calls[2].end, runtime().host_seconds());
  const double end = named("large")[0].end;
  EXPECT_GE(calls[2].end, end);
  EXPECT_LE(calls[2].end, end + figure("launch_host_seconds")) << "the first poll that could know";
}

TEST_F(RuntimeTest, NonBlockingStreamsIgnoreTheLegacyStream) {
  ASSERT_EQ(launch(stream(), 1, large), cudaSuccess);
  ASSERT_EQ(launch(nullptr, 1, large), cudaSuccess);
  ASSERT_EQ(launch(stream(), 1, large), cudaSuccess);
  const auto kernels = named("large");
  EXPECT_LT(kernels[1].start, kernels[0].end);
  EXPECT_LT(kernels[2].start, kernels[0].end);
}

TEST_F(RuntimeTest, SynchronisingBringsTheHostToTheEndOfTheStream) {
  const cudaStream_t s = stream();
  ASSERT_EQ(launch(s, 1, large), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(s), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  const double now = runtime().host_seconds();
  EXPECT_EQ(cudaStreamQuery(s), cudaSuccess);
  EXPECT_NEAR(now, named("large")[0].end + figure("sync_host_seconds"), nanosecond);
}

TEST_F(RuntimeTest, AStreamThatIsDestroyedFinishesItsWork) {
  int* const place = device_int(1);
  const cudaStream_t s = stream();
  ASSERT_EQ(launch(s, 1, store, place, 2), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(s), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(read(place), 2);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeTest, ArgumentsAreConvertedAndKeptUntilTheKernelRuns) {
  double* place = nullptr;
  ASSERT_EQ(cudaMalloc(&place, sizeof *place), cudaSuccess);
  double value = 0;
  ASSERT_EQ(cudaMemcpy(place, &value, sizeof value, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(launch(stream(), 1, keep, place, 2, Pair{3, 0.5}), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&value, place, sizeof value, cudaMemcpyDefault), cudaSuccess);
  EXPECT_DOUBLE_EQ(value, 7);
}

TEST_F(RuntimeTest, ImpossibleLaunchesAreRefused) {
  const auto attempt = [](dim3 grid, dim3 block, std::size_t shared) {
    cudaLaunchConfig_t config;
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    return cudaLaunchKernelEx(&config, tiny);
  };
  EXPECT_EQ(attempt(0, 32, 0), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(1, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(1, 1025, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(attempt(1, dim3(32, 33), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(attempt(1, dim3(1, 1, 65), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(attempt(dim3(1, 65536), 32, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(attempt(1, 32, 64 * 1024), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(tiny, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024),
            cudaSuccess);
  EXPECT_EQ(attempt(1, 32, 64 * 1024), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(tiny, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "a refused launch must not stick";
  EXPECT_EQ(executor_.executed, 1U);
}

TEST_F(RuntimeTest, WhatTheCompilerKnowsLimitsLaunchesAndOccupancy) {
  int blocks = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tiny, 256, 0), cudaSuccess);
  EXPECT_EQ(blocks, figure("max_threads_per_sm") / 256);
  cudaFuncAttributes attributes{};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, tiny), cudaErrorNotSupported)
      << "registers that nobody knows are not 0";

  RuntimeOptions options;
  options.kernel_resources = [](const void*) { return KernelResources{128, 1024}; };
  install(std::move(options));
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tiny, 256, 0), cudaSuccess);
  EXPECT_EQ(blocks, figure("registers_per_sm") / (128 * 256));
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, tiny), cudaSuccess);
  EXPECT_EQ(attributes.numRegs, 128);
  EXPECT_EQ(attributes.sharedSizeBytes, 1024U);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 512);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, figure("shared_bytes_per_block") - 1024);
  cudaLaunchConfig_t config;
  config.blockDim = dim3(1024);
  EXPECT_EQ(cudaLaunchKernelEx(&config, tiny), cudaErrorLaunchOutOfResources);
}

TEST_F(RuntimeTest, UnderLazyLoadingTheFirstLaunchWaitsForTheDevice) {
  install({.lazy_loading = true});
  ASSERT_EQ(launch(stream(), 1, large), cudaSuccess);
  ASSERT_EQ(launch(stream(), 1, small), cudaSuccess);
  EXPECT_GE(named("small")[0].start, named("large")[0].end);
  runtime().clear_records();
  ASSERT_EQ(launch(stream(), 1, large), cudaSuccess);
  ASSERT_EQ(launch(stream(), 1, small), cudaSuccess);
  EXPECT_LT(named("small")[0].start, named("large")[0].end);
}

}  // namespace
}  // namespace gpubench::model
