// Stream capture and graphs, against CUDA's documented semantics.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/model/runtime_fixture.hpp"

namespace gpubench::model {
namespace {

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
  // A kernel is recorded without what passes beside the next one.
  EXPECT_NEAR(events.back().end, kernels[2].end + (floor - spacing), nanosecond)
      << "nobody comes after part of a kernel";
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
  EXPECT_NEAR(named("small")[0].start, std::max(branches[0].end, branches[1].end), nanosecond);
  EXPECT_GE(named("tiny")[0].start, named("small")[0].end);
}

TEST_F(CaptureTest, AGraphIsNotLaunchedInACapture) {
  int* const place = device_int(0);
  const cudaStream_t s = begin();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(launch(s, 1, increment<int>, place), cudaSuccess);
  cudaGraph_t inner = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(s, &inner), cudaSuccess);
  const cudaGraphExec_t executable = instantiate(inner);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable, s), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t outer = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(s, &outer), cudaErrorStreamCaptureInvalidated);
  ASSERT_EQ(cudaGraphLaunch(executable, s), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(read(place), 4);
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

}  // namespace
}  // namespace gpubench::model
