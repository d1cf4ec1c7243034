// The model's CUDA runtime against CUDA's documented semantics, with kernels of known durations.
// Times are virtual: every expectation is exact arithmetic on the device file's figures.
#include "harness/platform/model/runtime/runtime.hpp"

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/platform/model/launch/symbols.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench::model {
namespace {

using namespace std::chrono_literals;

struct Pair {
  int first;
  double second;
};

[[maybe_unused]] __global__ void tiny() {}
[[maybe_unused]] __global__ void small() {}
[[maybe_unused]] __global__ void large() {}
[[maybe_unused]] __global__ void faulty() {}
[[maybe_unused]] __global__ void store(int* to, int value) { *to = value; }
[[maybe_unused]] __global__ void keep(double* to, float scale, Pair pair) {
  *to = scale * (pair.first + pair.second);
}
template <class T>
__global__ void increment(T* value) {
  ++*value;
}

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() { install(RuntimeOptions{}); }
  ~RuntimeTest() override { install_runtime(nullptr); }

  void install(RuntimeOptions options) {
    options.diagnostic = [this](const std::string& line) { lines_.push_back(line); };
    executor_.faults = {{address(faulty), "faulty: read past the end"}};
    executor_.seconds = {{address(tiny), 0.1e-6}, {address(small), 10e-6}, {address(large), 50e-6}};
    install_runtime(std::make_unique<Runtime>(device_, memory_, executor_, std::move(options)));
  }
  Runtime& runtime() { return *current_runtime(); }
  double figure(const char* name) const { return device_[name]; }

  // A grid that fills the device, so that nothing else fits beside it.
  dim3 full_grid() const {
    return dim3(static_cast<unsigned>(figure("sm_count") * figure("max_threads_per_sm")) / 256);
  }

  template <class... P, class... A>
  static cudaError_t launch(cudaStream_t stream, dim3 grid, void (*kernel)(P...), A... arguments) {
    cudaLaunchConfig_t config;
    config.gridDim = grid;
    config.blockDim = dim3(256);
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  }

  template <class... P, class... A>
  static cudaError_t launch_early(cudaStream_t stream, void (*kernel)(P...), A... arguments) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config;
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  }

  static cudaStream_t stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t created = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&created, flags), cudaSuccess);
    return created;
  }
  static cudaEvent_t event() {
    cudaEvent_t created = nullptr;
    EXPECT_EQ(cudaEventCreate(&created), cudaSuccess);
    return created;
  }
  static int* device_int(int value) {
    int* place = nullptr;
    EXPECT_EQ(cudaMalloc(&place, sizeof value), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(place, &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
    return place;
  }
  static int read(const int* place) {
    int value = 0;
    EXPECT_EQ(cudaMemcpy(&value, place, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }
  static double elapsed(cudaEvent_t start, cudaEvent_t end) {
    float milliseconds = 0;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
    return static_cast<double>(milliseconds) * 1e-3;
  }

  // What the device did under this name, in order of start.
  std::vector<Record> named(const std::string& part) {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<Record> found;
    for (const Record& record : runtime().records()) {
      if (record.name.find(part) != std::string::npos) found.push_back(record);
    }
    return found;
  }

  using ValueOperation = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  static ValueOperation entry_point(const char* name) {
    void* function = nullptr;
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, nullptr),
              cudaSuccess);
    return reinterpret_cast<ValueOperation>(function);
  }
  static CUresult wait_value(cudaStream_t s, const void* place, unsigned value,
                             unsigned flags = CU_STREAM_WAIT_VALUE_GEQ) {
    return entry_point("cuStreamWaitValue32")(s, reinterpret_cast<CUdeviceptr>(place), value,
                                              flags);
  }
  static CUresult write_value(cudaStream_t s, const void* place, unsigned value) {
    return entry_point("cuStreamWriteValue32")(s, reinterpret_cast<CUdeviceptr>(place), value,
                                               CU_STREAM_WRITE_VALUE_DEFAULT);
  }

  static constexpr double nanosecond = 1e-9;
  const DeviceSpec device_ = device_spec("h200-sxm");
  DeviceMemory memory_{std::size_t{1} << 30};
  FakeExecutor executor_;
  std::vector<std::string> lines_;
};

// --- launches and streams ---

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
  EXPECT_EQ(attempt(0, 32, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(attempt(1, 0, 0), cudaErrorInvalidConfiguration);
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

TEST(Symbols, NamesStaticAndTemplatedKernels) {
  EXPECT_STREQ(readable_name(address(tiny)), "gpubench::model::(anonymous namespace)::tiny");
  EXPECT_STREQ(readable_name(address(increment<int>)),
               "gpubench::model::(anonymous namespace)::increment<int>");
  EXPECT_NE(std::string(linker_name(address(tiny))).find("4tinyEv"), std::string::npos);
  EXPECT_STREQ(linker_name(nullptr), "");
}

// --- events ---

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

// --- memory and copies ---

TEST_F(RuntimeTest, MemoryRunsOutAndComesBack) {
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(total, memory_.capacity());
  void* all = nullptr;
  EXPECT_EQ(cudaMalloc(&all, total + 1), cudaErrorMemoryAllocation);
  ASSERT_EQ(cudaMalloc(&all, free), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 0U);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(all), cudaSuccess);
  EXPECT_EQ(cudaFree(all), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&more, 1), cudaSuccess);
}

TEST_F(RuntimeTest, DataGoesToTheDeviceAndBack) {
  std::array<int, 64> sent{};
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<int>(i);
  void* one = nullptr;
  void* other = nullptr;
  ASSERT_EQ(cudaMalloc(&one, sizeof sent), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&other, sizeof sent), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(one, sent.data(), sizeof sent, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(other, one, sizeof sent, cudaMemcpyDeviceToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemset(other, 0, sizeof(int)), cudaSuccess);
  std::array<int, 64> received{};
  ASSERT_EQ(cudaMemcpy(received.data(), other, sizeof sent, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(received, sent);
  ASSERT_EQ(cudaMemset(other, 1, 2 * sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(received.data(), other, sizeof sent, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(received[1], 0x01010101);
  EXPECT_EQ(received[2], 2);
}

TEST_F(RuntimeTest, CopiesThatMakeNoSenseAreRefused) {
  int* const device = device_int(0);
  int host = 0;
  EXPECT_EQ(cudaMemcpy(device, &host, 4096, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, &host, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, nullptr, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device, &host, 4, static_cast<cudaMemcpyKind>(7)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemset(&host, 0, 4), cudaErrorInvalidValue);
  ASSERT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(device, &host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
}

TEST_F(RuntimeTest, AnAsynchronousCopyBlocksTheHostOnlyFromPageableMemory) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  void* device = nullptr;
  void* pinned = nullptr;
  ASSERT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
  std::vector<std::byte> pageable(bytes);
  const cudaStream_t s = stream();
  const auto host_time = [&](const void* from) {
    const double before = runtime().host_seconds();
    EXPECT_EQ(cudaMemcpyAsync(device, from, bytes, cudaMemcpyHostToDevice, s), cudaSuccess);
    return runtime().host_seconds() - before;
  };
  EXPECT_NEAR(host_time(pinned), figure("launch_host_seconds"), nanosecond);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_GT(host_time(pageable.data()), bytes / figure("pageable_bytes_per_second"));
  const auto copies = named("copy to device");
  EXPECT_NEAR(copies[0].end - copies[0].start,
              figure("pcie_latency_seconds") + bytes / figure("pcie_h2d_bytes_per_second"),
              nanosecond);
  EXPECT_NEAR(copies[1].end - copies[1].start,
              figure("pcie_latency_seconds") + bytes / figure("pageable_bytes_per_second"),
              nanosecond);
}

TEST_F(RuntimeTest, BothDirectionsAndAKernelOverlapButNotTwoCopiesOneWay) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  std::array<void*, 3> device{};
  void* pinned = nullptr;
  for (void*& d : device) ASSERT_EQ(cudaMalloc(&d, bytes), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(device[0], pinned, bytes, cudaMemcpyHostToDevice, stream()),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(device[1], pinned, bytes, cudaMemcpyHostToDevice, stream()),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(pinned, device[2], bytes, cudaMemcpyDeviceToHost, stream()),
            cudaSuccess);
  ASSERT_EQ(launch(stream(), full_grid(), large), cudaSuccess);
  const auto to_device = named("copy to device");
  const auto to_host = named("copy to host");
  EXPECT_DOUBLE_EQ(to_device[1].start, to_device[0].end);
  EXPECT_LT(to_host[0].start, to_device[0].end);
  EXPECT_LT(named("large")[0].start, to_device[0].end);
}

TEST_F(RuntimeTest, PinnedMemoryIsWhatTheDeviceMayReach) {
  std::byte* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, 100, cudaHostAllocMapped), cudaSuccess);
  void* seen = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&seen, pinned, 0), cudaSuccess);
  EXPECT_EQ(seen, pinned);
  EXPECT_TRUE(runtime().is_mapped_host(pinned, 100));
  EXPECT_TRUE(runtime().is_mapped_host(pinned + 99, 1));
  EXPECT_FALSE(runtime().is_mapped_host(pinned + 99, 2));
  int pageable = 0;
  EXPECT_EQ(cudaHostGetDevicePointer(&seen, &pageable, 0), cudaErrorInvalidValue);
  ASSERT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_FALSE(runtime().is_mapped_host(pinned, 1));
  EXPECT_EQ(cudaFreeHost(pinned), cudaErrorInvalidValue);
}

// --- device ---

TEST_F(RuntimeTest, TheDeviceIsTheFilesDevice) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.name, device_.title());
  EXPECT_EQ(properties.multiProcessorCount, figure("sm_count"));
  EXPECT_EQ(properties.l2CacheSize, figure("l2_bytes"));
  EXPECT_EQ(properties.totalGlobalMem, memory_.capacity());
  int kilohertz = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), cudaSuccess);
  EXPECT_EQ(kilohertz, figure("sm_clock_hz") / 1000);
  EXPECT_EQ(cudaDeviceGetAttribute(&kilohertz, static_cast<cudaDeviceAttr>(127), 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  std::array<char, 13> bus{};
  EXPECT_EQ(cudaDeviceGetPCIBusId(bus.data(), bus.size(), 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetPCIBusId(bus.data(), 5, 0), cudaErrorInvalidValue);
}

// --- errors ---

TEST_F(RuntimeTest, AFaultOfAKernelSticks) {
  int* const place = device_int(1);
  const cudaStream_t s = stream();
  ASSERT_EQ(launch(s, 1, faulty), cudaSuccess) << "a launch does not know yet";
  ASSERT_EQ(launch(s, 1, store, place, 2), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure) << "asking does not clear it";
  EXPECT_EQ(cudaFree(place), cudaErrorLaunchFailure);
  EXPECT_EQ(executor_.executed, 1U) << "nothing runs after the fault";
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0], "faulty: read past the end");
  EXPECT_EQ(runtime().last_diagnostic(), lines_[0]);
}

TEST_F(RuntimeTest, AnErrorOfACallDoesNotStickAndBelongsToItsThread) {
  EXPECT_EQ(cudaSetDevice(5), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice) << "a success does not clear it";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Errors, AreCudasOwn) {
  EXPECT_EQ(static_cast<int>(cudaErrorStreamCaptureUnsupported), 900);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(1000)), "unrecognized error code");
}

// --- capture and graphs ---

class CaptureTest : public RuntimeTest {
 protected:
  cudaStream_t begin() {
    const cudaStream_t s = stream();
    EXPECT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
    return s;
  }
  static std::size_t node_count(cudaGraph_t graph) {
    std::size_t count = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
    return count;
  }
  static cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t executable = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&executable, graph), cudaSuccess);
    return executable;
  }
};

TEST_F(CaptureTest, CapturedWorkRunsOncePerLaunch) {
  int* const place = device_int(0);
  const cudaStream_t s = begin();
  ASSERT_EQ(launch(s, 1, increment<int>, place), cudaSuccess);
  ASSERT_EQ(launch(s, 1, increment<int>, place), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  EXPECT_EQ(node_count(graph), 2U);
  EXPECT_EQ(read(place), 0);
  const cudaGraphExec_t executable = instantiate(graph);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int launches = 1; launches <= 3; ++launches) {
    ASSERT_EQ(cudaGraphLaunch(executable, s), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    EXPECT_EQ(read(place), 2 * launches);
  }
  ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, s), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
}

TEST_F(CaptureTest, NodesOfAGraphAreCloserThanLaunchesInAStream) {
  const cudaStream_t s = begin();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch(s, 1, tiny), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(instantiate(graph), s), cudaSuccess);
  const auto kernels = named("tiny");
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_NEAR(kernels[2].start - kernels[1].start, figure("launch_graph_seconds"), nanosecond);
  EXPECT_LT(figure("launch_graph_seconds"), figure("launch_stream_seconds"));
}

TEST_F(CaptureTest, NodesOverlapWithWhatAnEmptyKernelTakesBetweenEvents) {
  const double floor = figure("kernel_floor_seconds"), spacing = figure("launch_graph_seconds");
  ASSERT_GT(floor, spacing);
  executor_.seconds[address(tiny)] = floor;
  const cudaStream_t s = begin();
  for (const auto kernel : {tiny, tiny, small, tiny}) {
    ASSERT_EQ(launch(s, 1, kernel), cudaSuccess);
  }
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  const cudaEvent_t end = event();
  ASSERT_EQ(cudaGraphLaunch(instantiate(graph), s), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, s), cudaSuccess);
  const auto kernels = named("tiny");
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_NEAR(kernels[1].start - kernels[0].start, spacing, nanosecond);
  const auto between = named("small");
  EXPECT_NEAR(kernels[2].start - between[0].start, 10e-6 - (floor - spacing), nanosecond);
  const auto events = named("event");
  EXPECT_DOUBLE_EQ(events.back().end, kernels[2].end) << "nobody comes after part of a kernel";
}

TEST_F(CaptureTest, WhatMayComeEarlyDoes) {
  const double floor = figure("kernel_floor_seconds");
  const double early = figure("launch_programmatic_seconds");
  executor_.seconds[address(tiny)] = floor;
  const cudaStream_t s = begin();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch_early(s, tiny), cudaSuccess);
  ASSERT_EQ(launch(s, 1, tiny), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(instantiate(graph), s), cudaSuccess);
  const auto kernels = named("tiny");
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_NEAR(kernels[1].start - kernels[0].start, early, nanosecond);
  EXPECT_NEAR(kernels[2].start - kernels[1].start, early, nanosecond);
  EXPECT_NEAR(kernels[3].start - kernels[2].start, figure("launch_graph_seconds"), nanosecond)
      << "a launch like any other";
  const auto launched = named("graph launch");
  EXPECT_NEAR(kernels[0].start - launched[0].start, figure("launch_graph_seconds"), nanosecond)
      << "it is early for kernels only";
}

TEST_F(CaptureTest, AnEmptyGraphStillCostsItsLaunch) {
  const cudaStream_t s = begin();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  EXPECT_EQ(node_count(graph), 0U);
  const cudaGraphExec_t executable = instantiate(graph);
  const int* gate = device_int(0);
  const cudaEvent_t start = event();
  const cudaEvent_t end = event();
  ASSERT_EQ(wait_value(s, gate, 1), CUDA_SUCCESS);
  ASSERT_EQ(cudaEventRecord(start, s), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, s), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, s), cudaSuccess);
  ASSERT_EQ(write_value(stream(), gate, 1), CUDA_SUCCESS);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_NEAR(elapsed(start, end), figure("launch_graph_seconds"), nanosecond);
}

TEST_F(CaptureTest, ForkedBranchesRunSideBySideAndJoin) {
  const cudaStream_t origin = begin();
  const cudaStream_t branch = stream();
  const cudaEvent_t fork = event();
  const cudaEvent_t join = event();
  ASSERT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(branch, fork), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ASSERT_EQ(cudaStreamIsCapturing(branch, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  ASSERT_EQ(launch(origin, 1, large), cudaSuccess);
  ASSERT_EQ(launch(branch, 1, large), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(join, branch), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(origin, join), cudaSuccess);
  ASSERT_EQ(launch(origin, 1, small), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(origin, &graph), cudaSuccess);
  EXPECT_EQ(node_count(graph), 3U);
  ASSERT_EQ(cudaStreamIsCapturing(branch, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);

  ASSERT_EQ(cudaGraphLaunch(instantiate(graph), origin), cudaSuccess);
  ASSERT_EQ(launch(origin, 1, tiny), cudaSuccess);
  const auto branches = named("large");
  EXPECT_DOUBLE_EQ(branches[0].start, branches[1].start);
  const double lead = figure("kernel_floor_seconds") - figure("launch_graph_seconds");
  EXPECT_NEAR(named("small")[0].start, std::max(branches[0].end, branches[1].end) - lead,
              nanosecond);
  EXPECT_GE(named("tiny")[0].start, named("small")[0].end);
}

TEST_F(CaptureTest, AGraphLaunchedInACaptureIsOneNode) {
  int* const place = device_int(0);
  const cudaStream_t s = begin();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(launch(s, 1, increment<int>, place), cudaSuccess);
  cudaGraph_t inner = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &inner), cudaSuccess);
  const cudaGraphExec_t executable = instantiate(inner);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, s), cudaSuccess);
  ASSERT_EQ(launch(s, 1, increment<int>, place), cudaSuccess);
  cudaGraph_t outer = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &outer), cudaSuccess);
  EXPECT_EQ(node_count(outer), 2U);
  ASSERT_EQ(cudaGraphLaunch(instantiate(outer), s), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(read(place), 5);
}

TEST_F(CaptureTest, WhatBlocksTheHostOrAllocatesInvalidatesTheCapture) {
  int* const device = device_int(0);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 4), cudaSuccess);
  const cudaStream_t other = stream();
  const cudaEvent_t outside = event();
  ASSERT_EQ(cudaEventRecord(outside, other), cudaSuccess);
  void* p = nullptr;
  int host = 0;
  const std::map<std::string, std::function<cudaError_t()>> refused{
      {"cudaMalloc", [&] { return cudaMalloc(&p, 4); }},
      {"cudaFree", [&] { return cudaFree(device); }},
      {"cudaMallocHost", [&] { return cudaMallocHost(&p, 4); }},
      {"cudaFreeHost", [&] { return cudaFreeHost(pinned); }},
      {"cudaMemcpy", [&] { return cudaMemcpy(&host, device, 4, cudaMemcpyDefault); }},
      {"cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); }},
      {"cudaStreamSynchronize", [&] { return cudaStreamSynchronize(other); }},
      {"cudaStreamQuery", [&] { return cudaStreamQuery(other); }},
      {"cudaEventSynchronize", [&] { return cudaEventSynchronize(outside); }},
      {"cudaEventQuery", [&] { return cudaEventQuery(outside); }},
  };
  for (const auto& [name, call] : refused) {
    const cudaStream_t s = begin();
    ASSERT_EQ(launch(s, 1, tiny), cudaSuccess);
    EXPECT_EQ(call(), cudaErrorStreamCaptureUnsupported) << name;
    EXPECT_EQ(launch(s, 1, tiny), cudaErrorStreamCaptureInvalidated) << name;
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated) << name;
    EXPECT_EQ(graph, nullptr) << name;
    EXPECT_EQ(launch(s, 1, tiny), cudaSuccess) << name << ": the stream is free again";
  }
  for (const auto& [name, call] : refused) EXPECT_EQ(call(), cudaSuccess) << name;
}

TEST_F(CaptureTest, TheCapturedStreamAndItsEventsCannotBeWaitedFor) {
  cudaGraph_t graph = nullptr;
  for (const auto& call : std::vector<std::function<cudaError_t(cudaStream_t)>>{
           [](cudaStream_t s) { return cudaStreamSynchronize(s); },
           [](cudaStream_t s) { return cudaStreamQuery(s); }}) {
    const cudaStream_t s = begin();
    EXPECT_EQ(call(s), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
  }
  const cudaStream_t s = begin();
  const cudaEvent_t inside = event();
  ASSERT_EQ(cudaEventRecord(inside, s), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(inside), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamWaitEvent(s, inside), cudaErrorCapturedEvent);
}

TEST_F(CaptureTest, RelaxedCapturesAllowWhatIsUnsafe) {
  const cudaStream_t s = stream();
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), cudaSuccess);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 4), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
}

TEST_F(CaptureTest, CapturesThatDoNotAddUp) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream(), &graph), cudaErrorIllegalState);

  const cudaStream_t twice = begin();
  EXPECT_EQ(cudaStreamBeginCapture(twice, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  std::thread([&] {
    EXPECT_EQ(cudaStreamEndCapture(twice, &graph), cudaErrorStreamCaptureWrongThread);
  }).join();
  EXPECT_EQ(cudaStreamEndCapture(twice, &graph), cudaSuccess);

  // Work outside the capture cannot be waited for inside.
  const cudaEvent_t outside = event();
  ASSERT_EQ(cudaEventRecord(outside, stream()), cudaSuccess);
  const cudaStream_t isolated = begin();
  EXPECT_EQ(cudaStreamWaitEvent(isolated, outside), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(cudaStreamEndCapture(isolated, &graph), cudaErrorStreamCaptureInvalidated);

  // A branch that does not come back.
  const cudaStream_t origin = begin();
  const cudaStream_t branch = stream();
  const cudaEvent_t fork = event();
  ASSERT_EQ(cudaEventRecord(fork, origin), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(branch, fork), cudaSuccess);
  ASSERT_EQ(launch(branch, 1, tiny), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(origin, &graph), cudaErrorStreamCaptureUnjoined);

  // Two captures meet.
  const cudaStream_t one = begin();
  const cudaStream_t other = begin();
  ASSERT_EQ(cudaEventRecord(fork, one), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, fork), cudaErrorStreamCaptureMerge);
  EXPECT_EQ(cudaStreamEndCapture(one, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureInvalidated);

  // Ended in a stream that only took part.
  const cudaStream_t begun = begin();
  ASSERT_EQ(cudaEventRecord(fork, begun), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(branch, fork), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(branch, &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(cudaStreamEndCapture(begun, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST_F(CaptureTest, TheLegacyStreamCannotBeUsedBesideABlockingCapture) {
  cudaGraph_t graph = nullptr;
  const cudaStream_t blocking = stream(cudaStreamDefault);
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(launch(nullptr, 1, tiny), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  const cudaStream_t free = begin();
  EXPECT_EQ(launch(nullptr, 1, tiny), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(free, &graph), cudaSuccess);
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

// --- managed and registered memory ---

class PrefetchTest : public RuntimeTest {
 protected:
  static constexpr std::size_t page = 4096, bytes = 1000 * page;
  static constexpr cudaMemLocation device0{cudaMemLocationTypeDevice, 0};
  static constexpr cudaMemLocation host{cudaMemLocationTypeHost, 0};

  double crossing(double amount, const char* rate) const {
    return figure("pcie_latency_seconds") + amount / figure(rate);
  }
  static double seconds(const Record& record) { return record.end - record.start; }
};

TEST_F(PrefetchTest, MovesWhatIsNotThereYet) {
  char* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, bytes), cudaSuccess);
  managed[bytes - 1] = 42;
  const cudaStream_t s = stream();
  ASSERT_EQ(cudaMemPrefetchAsync(managed, 10 * page, device0, 0, s), cudaSuccess);
  ASSERT_EQ(cudaMemPrefetchAsync(managed, bytes, device0, 0, s), cudaSuccess);
  ASSERT_EQ(cudaMemPrefetchAsync(managed, bytes, device0, 0, s), cudaSuccess);
  ASSERT_EQ(cudaMemPrefetchAsync(managed + page - 1, 2, host, 0, s), cudaSuccess);
  const auto there = named("prefetch to device");
  ASSERT_EQ(there.size(), 3U);
  EXPECT_EQ(there[0].engine, Engine::copy_to_device);
  EXPECT_NEAR(seconds(there[0]), crossing(10 * page, "pcie_h2d_bytes_per_second"), nanosecond);
  EXPECT_NEAR(seconds(there[1]), crossing(990 * page, "pcie_h2d_bytes_per_second"), nanosecond);
  EXPECT_NEAR(seconds(there[2]), crossing(0, "pcie_h2d_bytes_per_second"), nanosecond);
  const auto back = named("prefetch to host");
  EXPECT_EQ(back[0].engine, Engine::copy_to_host);
  EXPECT_NEAR(seconds(back[0]), crossing(2 * page, "pcie_d2h_bytes_per_second"), nanosecond)
      << "two bytes of two pages";
  EXPECT_EQ(managed[bytes - 1], 42);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaErrorInvalidValue);
}

TEST_F(PrefetchTest, TheHostGoesOnAtOnce) {
  char* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, bytes), cudaSuccess);
  const double before = runtime().host_seconds();
  ASSERT_EQ(cudaMemPrefetchAsync(managed, bytes, device0, 0, stream()), cudaSuccess);
  EXPECT_NEAR(runtime().host_seconds() - before, figure("launch_host_seconds"), nanosecond);
}

TEST_F(PrefetchTest, TakesManagedMemoryOnly) {
  char *managed = nullptr, *pinned = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, bytes), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(pinned, bytes, device0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, bytes + 1, device0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 0, device0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, bytes, device0, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, bytes, {cudaMemLocationTypeDevice, 1}, 0),
            cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, bytes, {cudaMemLocationTypeInvalid, 0}, 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(managed), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocManaged(&managed, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeTest, RegisteredMemoryIsPinnedUntilItIsNot) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  std::vector<char> pageable(2 * bytes);
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
  const cudaStream_t s = stream();
  const auto blocks_for = [&](char* from) {
    const double before = runtime().host_seconds();
    EXPECT_EQ(cudaMemcpyAsync(device, from, bytes, cudaMemcpyHostToDevice, s), cudaSuccess);
    return runtime().host_seconds() - before;
  };
  ASSERT_EQ(cudaHostRegister(pageable.data(), bytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_NEAR(blocks_for(pageable.data()), figure("launch_host_seconds"), nanosecond);
  EXPECT_GT(blocks_for(pageable.data() + bytes), 10e-6) << "the other half is pageable";
  EXPECT_EQ(cudaHostRegister(pageable.data() + bytes - 1, 2, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaFreeHost(pageable.data()), cudaErrorInvalidValue);
  ASSERT_EQ(cudaHostUnregister(pageable.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(pageable.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_GT(blocks_for(pageable.data()), 10e-6);
}

TEST_F(RuntimeTest, LongCopiesAreOnlyPricedWhereNobodyAsksForResults) {
  constexpr std::size_t little = std::size_t{1} << 20, much = little + 1;
  char *pinned = nullptr, *device = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, much), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device, much), cudaSuccess);
  const auto arrives = [&](std::size_t bytes, char value) {
    EXPECT_EQ(cudaMemset(device, 0, much), cudaSuccess);
    std::memset(pinned, value, much);
    EXPECT_EQ(cudaMemcpy(device, pinned, bytes, cudaMemcpyHostToDevice), cudaSuccess);
    char first = 0;
    EXPECT_EQ(cudaMemcpy(&first, device, 1, cudaMemcpyDeviceToHost), cudaSuccess);
    return first == value;
  };
  EXPECT_TRUE(arrives(much, 1));
  runtime().expect_results(false);
  const double before = runtime().host_seconds();
  EXPECT_FALSE(arrives(much, 2));
  EXPECT_GT(runtime().host_seconds() - before, much / figure("pcie_h2d_bytes_per_second"));
  EXPECT_TRUE(arrives(little, 3)) << "flags and scalars are always carried out";
  runtime().expect_results(true);
  EXPECT_TRUE(arrives(much, 4));
}

// --- every call ---

// Every function of the API, called rightly.
class EveryCallTest : public RuntimeTest {
 protected:
  EveryCallTest() {
    device_place_ = device_int(0);
    legacy_place_ = device_int(0);
    EXPECT_EQ(cudaMallocHost(&pinned_, 64), cudaSuccess);
    stream_ = stream();
    event_ = event();
    later_ = event();
    EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(later_, stream_), cudaSuccess);
    wait_ = entry_point("cuStreamWaitValue32");
    write_ = entry_point("cuStreamWriteValue32");
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&executable_, graph_), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    runtime().clear_records();
  }

  std::vector<std::pair<std::string, std::function<cudaError_t()>>> calls() {
    const auto place = reinterpret_cast<CUdeviceptr>(device_place_);
    return {
        {"cudaGetDeviceCount", [this] { return cudaGetDeviceCount(&number_); }},
        {"cudaSetDevice", [] { return cudaSetDevice(0); }},
        {"cudaGetDevice", [this] { return cudaGetDevice(&number_); }},
        {"cudaGetDeviceProperties", [this] { return cudaGetDeviceProperties(&properties_, 0); }},
        {"cudaDeviceGetAttribute",
         [this] { return cudaDeviceGetAttribute(&number_, cudaDevAttrWarpSize, 0); }},
        {"cudaDeviceGetPCIBusId",
         [this] { return cudaDeviceGetPCIBusId(text_.data(), text_.size(), 0); }},
        {"cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); }},
        {"cudaMemGetInfo", [this] { return cudaMemGetInfo(&size_, &size_); }},
        {"cudaMalloc", [this] { return cudaMalloc(&pointer_, 4); }},
        {"cudaFree", [] { return cudaFree(nullptr); }},
        {"cudaMallocHost", [this] { return cudaMallocHost(&pointer_, 4); }},
        {"cudaHostAlloc", [this] { return cudaHostAlloc(&pointer_, 4, cudaHostAllocMapped); }},
        {"cudaHostGetDevicePointer",
         [this] { return cudaHostGetDevicePointer(&pointer_, pinned_, 0); }},
        {"cudaFreeHost", [] { return cudaFreeHost(nullptr); }},
        {"cudaHostRegister",
         [this] { return cudaHostRegister(text_.data(), 1, cudaHostRegisterDefault); }},
        {"cudaHostUnregister", [this] { return cudaHostUnregister(text_.data()); }},
        {"cudaMallocManaged", [this] { return cudaMallocManaged(&managed_, 4); }},
        {"cudaMemPrefetchAsync",
         [this] {
           return cudaMemPrefetchAsync(managed_, 4, {cudaMemLocationTypeDevice, 0}, 0, stream_);
         }},
        {"cudaMemcpy", [this] { return cudaMemcpy(legacy_place_, pinned_, 4, cudaMemcpyDefault); }},
        {"cudaMemcpyAsync",
         [this] { return cudaMemcpyAsync(device_place_, pinned_, 4, cudaMemcpyDefault, stream_); }},
        {"cudaMemset", [this] { return cudaMemset(legacy_place_, 0, 4); }},
        {"cudaMemsetAsync", [this] { return cudaMemsetAsync(device_place_, 0, 4, stream_); }},
        {"cudaStreamCreate", [this] { return cudaStreamCreate(&new_stream_); }},
        {"cudaStreamCreateWithFlags",
         [this] { return cudaStreamCreateWithFlags(&new_stream_, cudaStreamNonBlocking); }},
        {"cudaStreamCreateWithPriority",
         [this] { return cudaStreamCreateWithPriority(&new_stream_, cudaStreamDefault, -1); }},
        {"cudaDeviceGetStreamPriorityRange",
         [this] { return cudaDeviceGetStreamPriorityRange(&number_, &number_); }},
        {"cudaStreamDestroy", [this] { return cudaStreamDestroy(new_stream_); }},
        {"cudaStreamSynchronize", [this] { return cudaStreamSynchronize(stream_); }},
        {"cudaStreamQuery", [this] { return cudaStreamQuery(stream_); }},
        {"cudaStreamWaitEvent", [this] { return cudaStreamWaitEvent(stream_, event_); }},
        {"cudaEventCreate", [this] { return cudaEventCreate(&new_event_); }},
        {"cudaEventCreateWithFlags",
         [this] { return cudaEventCreateWithFlags(&new_event_, cudaEventDefault); }},
        {"cudaEventSynchronize", [this] { return cudaEventSynchronize(event_); }},
        {"cudaEventQuery", [this] { return cudaEventQuery(event_); }},
        {"cudaEventElapsedTime",
         [this] { return cudaEventElapsedTime(&milliseconds_, event_, later_); }},
        {"cudaEventRecord", [this] { return cudaEventRecord(event_, stream_); }},
        {"cudaEventDestroy", [this] { return cudaEventDestroy(new_event_); }},
        {"cudaStreamBeginCapture",
         [this] { return cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed); }},
        {"cudaStreamIsCapturing", [this] { return cudaStreamIsCapturing(stream_, &status_); }},
        {"cudaStreamEndCapture", [this] { return cudaStreamEndCapture(stream_, &new_graph_); }},
        {"cudaGraphGetNodes", [this] { return cudaGraphGetNodes(graph_, nullptr, &size_); }},
        {"cudaGraphInstantiate", [this] { return cudaGraphInstantiate(&new_executable_, graph_); }},
        {"cudaGraphLaunch", [this] { return cudaGraphLaunch(executable_, stream_); }},
        {"cudaGraphExecDestroy", [this] { return cudaGraphExecDestroy(new_executable_); }},
        {"cudaGraphDestroy", [this] { return cudaGraphDestroy(new_graph_); }},
        {"cudaGetDriverEntryPointByVersion",
         [this] {
           return cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &pointer_, 12000,
                                                   cudaEnableDefault);
         }},
        {"cuStreamWaitValue32",
         [this, place] {
           return static_cast<cudaError_t>(wait_(stream_, place, 0, CU_STREAM_WAIT_VALUE_GEQ));
         }},
        {"cuStreamWriteValue32",
         [this, place] { return static_cast<cudaError_t>(write_(stream_, place, 0, 0)); }},
        {"cudaFuncGetAttributes",
         [] {
           cudaFuncAttributes attributes{};
           // Not known here, which is not the error that is looked for.
           const cudaError_t error = cudaFuncGetAttributes(&attributes, tiny);
           return error == cudaErrorNotSupported ? cudaSuccess : error;
         }},
        {"cudaFuncSetAttribute",
         [] {
           return cudaFuncSetAttribute(tiny, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
         }},
        {"cudaOccupancyMaxActiveBlocksPerMultiprocessor",
         [this] { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&number_, tiny, 32, 0); }},
        {"cudaLaunchKernelEx", [this] { return launch(stream_, 1, tiny); }},
        {"cudaProfilerStart", [] { return cudaProfilerStart(); }},
        {"cudaProfilerStop", [] { return cudaProfilerStop(); }},
    };
  }

  int number_ = 0;
  std::size_t size_ = 0;
  float milliseconds_ = 0;
  std::array<char, 32> text_{};
  cudaDeviceProp properties_{};
  int* device_place_ = nullptr;
  int* legacy_place_ = nullptr;  // for calls in the legacy default stream
  void* pinned_ = nullptr;
  void* pointer_ = nullptr;
  void* managed_ = nullptr;
  cudaStream_t stream_ = nullptr, new_stream_ = nullptr;
  cudaEvent_t event_ = nullptr, later_ = nullptr, new_event_ = nullptr;
  cudaGraph_t graph_ = nullptr, new_graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr, new_executable_ = nullptr;
  cudaStreamCaptureStatus status_{};
  ValueOperation wait_ = nullptr, write_ = nullptr;
};

TEST_F(EveryCallTest, SucceedsUnlessToldToFail) {
  for (const auto& [name, call] : calls()) EXPECT_EQ(call(), cudaSuccess) << name;
}

TEST_F(EveryCallTest, CanBeMadeToFail) {
  for (const auto& [name, call] : calls()) {
    runtime().fail_call(name, 1, cudaErrorUnknown);
    EXPECT_EQ(call(), cudaErrorUnknown) << name;
    EXPECT_EQ(cudaGetLastError(), cudaErrorUnknown) << name;
    EXPECT_EQ(call(), cudaSuccess) << name << ", once the fault has been used up";
    static_cast<void>(cudaGetLastError());
  }
}

TEST_F(EveryCallTest, FailsAtTheChosenCall) {
  runtime().fail_call("cudaMalloc", 3, cudaErrorMemoryAllocation);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 4), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&p, 4), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&p, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&p, 4), cudaSuccess);
}

TEST_F(EveryCallTest, FailsAfterAFault) {
  ASSERT_EQ(launch(stream_, 1, faulty), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  for (const auto& [name, call] : calls()) EXPECT_EQ(call(), cudaErrorLaunchFailure) << name;
}

TEST_F(EveryCallTest, FindsNoDeviceWhenNoneIsInstalled) {
  install_runtime(nullptr);
  for (const auto& [name, call] : calls()) EXPECT_EQ(call(), cudaErrorNoDevice) << name;
  EXPECT_EQ(cudaGetLastError(), cudaErrorNoDevice);
  int version = 0;
  EXPECT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
}

TEST_F(EveryCallTest, LeavesARecordOfWhatTheDeviceDid) {
  ASSERT_EQ(cudaMemsetAsync(device_place_, 0, 4, stream_), cudaSuccess);
  ASSERT_EQ(launch(stream_, 1, tiny), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto records = runtime().records();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].name, "set");
  EXPECT_EQ(records[0].engine, Engine::compute);
  EXPECT_EQ(records[1].stream, 1);
  EXPECT_LE(records[0].end, records[1].start);
}

TEST_F(RuntimeTest, ThreadsShareTheDevice) {
  std::vector<std::thread> threads;
  int* const counter = device_int(0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const cudaStream_t s = stream();
      for (int i = 0; i < 50; ++i) EXPECT_EQ(launch(s, 1, increment<int>, counter), cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read(counter), 200);
}

}  // namespace
}  // namespace gpubench::model
