// What every call does: its errors, and what it says of the device.
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/model/runtime_fixture.hpp"

namespace gpubench::model {
namespace {

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
  EXPECT_EQ(lines_[0], "gpubench::model::faulty: faulty: read past the end");
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

  using Calls = std::vector<std::pair<std::string, std::function<cudaError_t()>>>;

  Calls calls() {
    Calls all;
    for (const Calls& part : {device_calls(), memory_calls(), stream_calls(), graph_calls(),
                              driver_calls(), kernel_calls()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  Calls device_calls() {
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
    };
  }

  Calls memory_calls() {
    return {
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
    };
  }

  Calls stream_calls() {
    return {
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
    };
  }

  Calls graph_calls() {
    return {
        {"cudaStreamBeginCapture",
         [this] { return cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed); }},
        {"cudaStreamIsCapturing", [this] { return cudaStreamIsCapturing(stream_, &status_); }},
        {"cudaStreamEndCapture", [this] { return cudaStreamEndCapture(stream_, &new_graph_); }},
        {"cudaGraphGetNodes", [this] { return cudaGraphGetNodes(graph_, nullptr, &size_); }},
        {"cudaGraphInstantiate", [this] { return cudaGraphInstantiate(&new_executable_, graph_); }},
        {"cudaGraphLaunch", [this] { return cudaGraphLaunch(executable_, stream_); }},
        {"cudaGraphExecDestroy", [this] { return cudaGraphExecDestroy(new_executable_); }},
        {"cudaGraphDestroy", [this] { return cudaGraphDestroy(new_graph_); }},
    };
  }

  Calls driver_calls() {
    const auto place = reinterpret_cast<CUdeviceptr>(device_place_);
    return {
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
    };
  }

  Calls kernel_calls() {
    return {
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
