// A device under conditions: late effects, shared hardware queues, slow calls, planted faults.
#include <cuda.h>
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/platform/model/engine/emulator.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "tests/model/order_kernels.hpp"

namespace gpubench::model {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Unkind : public testing::Test {
 protected:
  static constexpr unsigned n = 1024;

  ~Unkind() override { install_runtime(nullptr); }

  void install(const Ordering& ordering) {
    emulator_ = std::make_unique<Emulator>(device_, memory_,
                                           EmulatorSettings{.threads = 1, .ordering = ordering});
    RuntimeOptions options;
    options.deadlock_after = 100ms;
    options.conditions.ordering = ordering;
    options.diagnostic = [this](const std::string& line) { diagnostic_ = line; };
    install_runtime(std::make_unique<Runtime>(device_, memory_, *emulator_, options));
  }
  // Straight from memory: no call of CUDA's, which could order something.
  float first(const DeviceBuffer<float>& of) const {
    float value = 0;
    memory_.read(&value, of.data(), sizeof value);
    return value;
  }
  static void wait_at(cudaStream_t stream, const PinnedBuffer<unsigned>& word, unsigned value) {
    void* function = nullptr;
    CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &function, 12000,
                                                cudaEnableDefault, nullptr));
    using Wait = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
    ASSERT_EQ(reinterpret_cast<Wait>(function)(stream, reinterpret_cast<CUdeviceptr>(word.data()),
                                               value, CU_STREAM_WAIT_VALUE_GEQ),
              CUDA_SUCCESS);
  }

  const DeviceSpec device_ = device_spec("h200-sxm");
  DeviceMemory memory_{std::size_t{1} << 30};
  std::unique_ptr<Emulator> emulator_;
  std::string diagnostic_;
};

TEST_F(Unkind, ALateMemsetComesAfterAKernelThatDoesNotWaitForIt) {
  install({.late_memsets = true});
  const DeviceBuffer<float> a(n), b(n);
  const Stream stream;
  CUDA_CHECK(cudaMemset(a.data(), 0, a.bytes()));
  kernels::fill(a.data(), n, 1, stream);
  stream.synchronize();
  EXPECT_EQ(first(a), 1);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(first(a), 0) << "it has come, and is not ordered";
  EXPECT_THAT(diagnostic_, HasSubstr("race: "));
}

TEST_F(Unkind, ALateMemsetIsThereForWhatWaitsForIt) {
  install({.late_memsets = true});
  const DeviceBuffer<float> a(n), b(n);
  const Stream stream, other;
  const gpubench::Event event;
  CUDA_CHECK(cudaMemsetAsync(a.data(), 0, a.bytes(), stream));
  CUDA_CHECK(cudaMemsetAsync(b.data(), 0, b.bytes(), stream));
  event.record(stream);
  event.hold(other);
  kernels::fill(a.data(), n, 1, other);
  other.synchronize();
  EXPECT_EQ(first(a), 1);
  CUDA_CHECK(cudaMemsetAsync(a.data(), 0, a.bytes(), other));
  EXPECT_EQ(first(a), 1) << "nobody needs it yet";
  other.synchronize();
  EXPECT_EQ(first(a), 0);
  CUDA_CHECK(cudaMemsetAsync(a.data(), 0xFF, a.bytes(), other));
  while (cudaStreamQuery(other) == cudaErrorNotReady) static_cast<void>(cudaGetLastError());
  EXPECT_NE(first(a), 0) << "whoever asks again and again is answered";
  CUDA_CHECK(cudaDeviceSynchronize());
}

TEST_F(Unkind, ALateCopyReadsWhatThePageableMemoryHeldAtTheCall) {
  install({.late_pageable_copies = true});
  const DeviceBuffer<float> a(n);
  std::vector<float> host(n, 3);
  const float before = first(a);
  CUDA_CHECK(cudaMemcpy(a.data(), host.data(), a.bytes(), cudaMemcpyHostToDevice));
  host.assign(n, 4);
  EXPECT_FALSE(first(a) == 3 || first(a) == before) << "it has not come: NaN";
  CUDA_CHECK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(first(a), 3);
}

TEST_F(Unkind, ALateCopyOnTheDeviceComesWhenItIsNeeded) {
  install({.late_device_copies = true});
  const DeviceBuffer<float> a(n), b(n);
  const Stream stream;
  kernels::fill(a.data(), n, 5, stream);
  CUDA_CHECK(cudaMemcpyAsync(b.data(), a.data(), a.bytes(), cudaMemcpyDeviceToDevice, stream));
  EXPECT_NE(first(b), 5);
  stream.synchronize();
  EXPECT_EQ(first(b), 5);
}

TEST_F(Unkind, StreamsOfOneQueueWaitBehindAWaitingStream) {
  for (const int queues : {1, 2}) {
    install({.hardware_queues = queues});
    const PinnedBuffer<unsigned> word(1);
    word[0] = 0;
    const Stream waiting, other;
    const DeviceBuffer<float> a(n);
    wait_at(waiting, word, 1);
    kernels::fill(a.data(), n, 1, other);
    if (queues == 1) {
      EXPECT_EQ(cudaStreamSynchronize(other), cudaErrorLaunchTimeout);
      EXPECT_THAT(diagnostic_, HasSubstr("deadlock: stream 1 waits for 'value at"));
    } else {
      EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
      word[0] = 1;
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
  }
}

TEST_F(Unkind, TheHostOpensWhatAllStreamsWaitBehind) {
  install({.hardware_queues = 1});
  const PinnedBuffer<unsigned> word(1);
  word[0] = 0;
  const Stream waiting, other;
  const DeviceBuffer<float> a(n);
  wait_at(waiting, word, 1);
  kernels::fill(a.data(), n, 1, other);
  word[0] = 1;
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(first(a), 1);
}

TEST_F(Unkind, AProgramGetsAsManyQueuesAsItAsksFor) {
  const char* const given = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const std::string restored = given == nullptr ? "" : given;
  unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
  EXPECT_EQ(wanted_connections(), 8);
  for (const auto& [text, connections] :
       {std::pair("1", 1), std::pair("32", 32), std::pair("99", 32), std::pair("x", 8)}) {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", text, 1);
    EXPECT_EQ(wanted_connections(), connections);
  }
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", restored.c_str(), 1);
}

TEST_F(Unkind, EveryCallTakesItsTime) {
  install({.host_call_seconds = 1e-3});
  const double begin = current_runtime()->host_seconds();
  for (int i = 0; i < 10; ++i) CUDA_CHECK(cudaSetDevice(0));
  EXPECT_NEAR(current_runtime()->host_seconds() - begin, 10e-3, 1e-9);
}

TEST_F(Unkind, APlantedFaultLosesTheDeviceAtItsLaunch) {
  install({.fault = PlantedLaunch{"fill_kernel", 2}});
  const DeviceBuffer<float> a(n), b(n);
  kernels::copy(b.data(), a.data(), n, nullptr);
  kernels::fill(a.data(), n, 1, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  kernels::fill(a.data(), n, 2, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorIllegalAddress) << "and it stays lost";
  EXPECT_THAT(diagnostic_, HasSubstr("fill_kernel faults, as the conditions say"));
}

TEST_F(Unkind, AnEndlessKernelIsNeverReadyAndTimePasses) {
  install({.hang = PlantedLaunch{"fill_kernel", 1}});
  const DeviceBuffer<float> a(n), b(n);
  const Stream stream, other;
  kernels::fill(a.data(), n, 1, stream);
  const double begin = current_runtime()->host_seconds();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_GT(current_runtime()->host_seconds(), begin) << "a deadline can pass";
  EXPECT_THAT(current_runtime()->endless_kernel(), HasSubstr("fill_kernel"));
  CUDA_CHECK(cudaMemsetAsync(b.data(), 0, b.bytes(), other));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchTimeout);
  EXPECT_THAT(diagnostic_, HasSubstr("fill_kernel' in stream 1 never ends"));
}

}  // namespace
}  // namespace gpubench::model
