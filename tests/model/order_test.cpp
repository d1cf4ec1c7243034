// What orders two operations and what does not, by CUDA's rules: two that touch the same bytes
// without an order are named, however the timeline happened to carry them out.
#include "harness/platform/model/runtime/order.hpp"

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/event.hpp"
#include "harness/cuda/graph.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/platform/model/engine/emulator.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "tests/model/order_kernels.hpp"

namespace gpubench::model {
namespace {

using testing::HasSubstr;

class OrderTest : public testing::Test {
 protected:
  static constexpr unsigned n = 4096;

  OrderTest() {
    RuntimeOptions options;
    options.diagnostic = [this](const std::string& line) { diagnostic_ = line; };
    install_runtime(std::make_unique<Runtime>(device_, memory_, emulator_, options));
  }
  ~OrderTest() override { install_runtime(nullptr); }

  // The race that the device has reported by the time that everything is done, or "".
  std::string race() {
    const cudaError_t error = cudaDeviceSynchronize();
    EXPECT_EQ(error != cudaSuccess, !diagnostic_.empty());
    return diagnostic_;
  }

  const DeviceSpec device_ = device_spec("h200-sxm");
  DeviceMemory memory_{std::size_t{1} << 30};
  Emulator emulator_{device_, memory_, {.threads = 1}};
  std::string diagnostic_;
};

TEST_F(OrderTest, AMemsetInTheLegacyStreamRacesWithAKernelThatDoesNotBlock) {
  const DeviceBuffer<float> a(n);
  const Stream stream;
  CUDA_CHECK(cudaMemset(a.data(), 0xFF, a.bytes()));
  kernels::fill(a.data() + 16, 16, 1, stream);
  const std::string line = race();
  EXPECT_THAT(line, HasSubstr("race: 'set' in the legacy default stream writes bytes 64..127 of "
                              "allocation 1 (16384 bytes) and '"));
  EXPECT_THAT(line, HasSubstr("fill_kernel' in stream 1 writes them, and nothing orders the two"));
}

TEST_F(OrderTest, ABlockingStreamWaitsForTheLegacyStream) {
  const DeviceBuffer<float> a(n);
  const Stream stream(cudaStreamDefault);
  CUDA_CHECK(cudaMemset(a.data(), 0xFF, a.bytes()));
  kernels::fill(a.data(), n, 1, stream);
  CUDA_CHECK(cudaMemset(a.data(), 0xFF, a.bytes()));
  EXPECT_EQ(race(), "");
}

TEST_F(OrderTest, TheHostOrdersWhatItHasWaitedFor) {
  const DeviceBuffer<float> a(n);
  const Stream stream;
  const gpubench::Event event;
  const std::array<std::function<void()>, 4> waits{
      [] { CUDA_CHECK(cudaStreamSynchronize(nullptr)); },
      [] { CUDA_CHECK(cudaDeviceSynchronize()); },
      [&] {
        event.record(nullptr);
        event.synchronize();
      },
      [] {
        while (cudaStreamQuery(nullptr) == cudaErrorNotReady) static_cast<void>(cudaGetLastError());
      }};
  for (const auto& wait : waits) {
    CUDA_CHECK(cudaMemset(a.data(), 0xFF, a.bytes()));
    wait();
    kernels::fill(a.data(), n, 1, stream);
    stream.synchronize();
  }
  EXPECT_EQ(race(), "");
}

TEST_F(OrderTest, WaitingForAnotherStreamOrdersNothing) {
  const DeviceBuffer<float> a(n);
  const Stream stream, other;
  CUDA_CHECK(cudaMemset(a.data(), 0xFF, a.bytes()));
  other.synchronize();
  kernels::fill(a.data(), n, 1, stream);
  EXPECT_THAT(race(), HasSubstr("'set' in the legacy default stream"));
}

TEST_F(OrderTest, TwoStreamsNeedAnEvent) {
  const DeviceBuffer<float> a(n), b(n);
  const Stream first, second;
  const gpubench::Event event;
  kernels::fill(a.data(), n, 1, first);
  event.record(first);
  event.hold(second);
  kernels::copy(b.data(), a.data(), n, second);
  EXPECT_EQ(race(), "");
  kernels::fill(a.data(), n, 2, first);
  kernels::copy(b.data(), a.data(), n, second);
  EXPECT_THAT(race(), HasSubstr("fill_kernel' in stream 1 writes bytes 0.."));
}

TEST_F(OrderTest, AnEventOrdersWhatWasQueuedBeforeItAndNoMore) {
  const DeviceBuffer<float> a(n), b(n);
  const Stream first, second;
  const gpubench::Event event;
  event.record(first);
  kernels::fill(a.data(), n, 1, first);
  event.hold(second);
  kernels::copy(b.data(), a.data(), n, second);
  EXPECT_NE(race(), "");
}

TEST_F(OrderTest, OrderIsPassedOnByAThirdStream) {
  const DeviceBuffer<float> a(n), b(n);
  const Stream first, second, third;
  const gpubench::Event event, later;
  kernels::fill(a.data(), n, 1, first);
  event.record(first);
  event.hold(second);
  later.record(second);
  later.hold(third);
  kernels::copy(b.data(), a.data(), n, third);
  EXPECT_EQ(race(), "");
}

TEST_F(OrderTest, ReadersAndAtomicsShareBytes) {
  const DeviceBuffer<float> a(n), b(n), c(n);
  const DeviceBuffer<unsigned> counter(1);
  counter.upload(std::vector<unsigned>{0});
  CUDA_CHECK(cudaDeviceSynchronize());
  const Stream first, second;
  kernels::copy(b.data(), a.data(), n, first);
  kernels::copy(c.data(), a.data(), n, second);
  kernels::count(counter.data(), first);
  kernels::count(counter.data(), second);
  EXPECT_EQ(race(), "");
  EXPECT_EQ(counter.download()[0], 128U);
  kernels::count(counter.data(), first);
  CUDA_CHECK(cudaMemsetAsync(counter.data(), 0, counter.bytes(), second));
  EXPECT_THAT(race(), HasSubstr("changes atomically"));
}

TEST_F(OrderTest, OnlyBytesThatBothTouchCount) {
  const DeviceBuffer<float> a(n);
  const Stream first, second, third;
  kernels::fill_every_other(a.data(), n, 1, first);
  kernels::fill_every_other(a.data() + 1, n - 1, 2, second);
  EXPECT_EQ(race(), "");
  kernels::fill_every_other(a.data(), n, 1, first);
  kernels::fill(a.data() + 8, 1, 1, second);
  EXPECT_THAT(race(), HasSubstr("bytes 32..35"));
}

TEST_F(OrderTest, BranchesOfAGraphAreNotOrdered) {
  const DeviceBuffer<float> a(n), b(n);
  const Stream stream, side;
  const gpubench::Event fork, join;
  const auto body = [&](bool same_bytes) {
    return [&, same_bytes](cudaStream_t s) {
      fork.record(s);
      fork.hold(side);
      kernels::fill(a.data(), n, 1, s);
      kernels::fill(same_bytes ? a.data() : b.data(), n, 2, side);
      join.record(side);
      join.hold(s);
      kernels::copy(a.data(), b.data(), n, s);
    };
  };
  const ExecutableGraph disjoint(body(false)), shared(body(true));
  for (int i = 0; i < 3; ++i) disjoint.launch(stream);
  EXPECT_EQ(race(), "");
  shared.launch(stream);
  EXPECT_THAT(race(), HasSubstr("nothing orders the two"));
}

TEST_F(OrderTest, GraphsOfOneStreamFollowEachOther) {
  const DeviceBuffer<float> a(n);
  const Stream stream, other;
  const ExecutableGraph graph([&](cudaStream_t s) { kernels::fill(a.data(), n, 1, s); });
  graph.launch(stream);
  graph.launch(stream);
  kernels::fill(a.data(), n, 2, stream);
  EXPECT_EQ(race(), "");
  graph.launch(stream);
  graph.launch(other);
  EXPECT_THAT(race(), HasSubstr("fill_kernel' in stream 1"));
}

TEST_F(OrderTest, CopiesTouchTheirDeviceMemory) {
  const DeviceBuffer<float> a(n), b(n);
  const PinnedBuffer<float> host(n);
  const Stream first, second;
  CUDA_CHECK(cudaMemcpyAsync(a.data(), host.data(), a.bytes(), cudaMemcpyHostToDevice, first));
  CUDA_CHECK(cudaMemcpyAsync(b.data(), a.data(), a.bytes(), cudaMemcpyDeviceToDevice, second));
  EXPECT_THAT(race(), HasSubstr("'copy to device' in stream 1"));
}

TEST_F(OrderTest, ACopyFromPageableMemoryMayEndAfterItsCall) {
  const DeviceBuffer<float> a(n), b(n);
  const std::vector<float> pageable(n);
  const PinnedBuffer<float> pinned(n);
  const Stream stream;
  CUDA_CHECK(cudaMemcpy(a.data(), pinned.data(), a.bytes(), cudaMemcpyHostToDevice));
  kernels::copy(b.data(), a.data(), n, stream);
  stream.synchronize();
  EXPECT_EQ(race(), "");
  CUDA_CHECK(cudaMemcpy(a.data(), pageable.data(), a.bytes(), cudaMemcpyHostToDevice));
  kernels::copy(b.data(), a.data(), n, stream);
  EXPECT_THAT(race(), HasSubstr("'copy to device' in the legacy default stream"));
}

TEST_F(OrderTest, MemoryThatIsHadAgainIsOtherMemory) {
  const Stream first, second;
  for (const Stream* stream : {&first, &second}) {
    const DeviceBuffer<float> a(n);
    kernels::fill(a.data(), n, 1, *stream);
  }
  EXPECT_EQ(race(), "");
}

TEST_F(OrderTest, AWordThatOneStreamWritesAndAnotherWaitsForOrdersThem) {
  using Operation = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  const auto entry = [](const char* name) {
    void* function = nullptr;
    CUDA_CHECK(
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, nullptr));
    return reinterpret_cast<Operation>(function);
  };
  const PinnedBuffer<unsigned> word(1);
  word[0] = 0;
  const DeviceBuffer<float> a(n), b(n);
  const Stream first, second;
  const auto place = reinterpret_cast<CUdeviceptr>(word.data());
  ASSERT_EQ(entry("cuStreamWaitValue32")(second, place, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  kernels::copy(b.data(), a.data(), n, second);
  kernels::fill(a.data(), n, 1, first);
  ASSERT_EQ(entry("cuStreamWriteValue32")(first, place, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(race(), "");
}

}  // namespace
}  // namespace gpubench::model
