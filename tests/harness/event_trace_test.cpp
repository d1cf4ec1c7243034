// Traces by events, on the model device, whose own timeline says what really happened.
#include "harness/cuda/event_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/cuda/event.hpp"
#include "harness/cuda/graph.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/listener.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/platform/model/launch/symbols.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/records/tracks.hpp"
#include "harness/system/demangle.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench {
namespace {

[[maybe_unused]] __global__ void short_kernel(int* to) { *to += 1; }
[[maybe_unused]] __global__ void long_kernel(int* to) { *to += 2; }

constexpr std::size_t traced_words = 1 << 18;

class EventTraceTest : public testing::Test {
 protected:
  EventTraceTest() {
    model::install_runtime(std::make_unique<model::Runtime>(device_, memory_, executor_));
    executor_.seconds[model::address(&short_kernel)] = 20e-6;
    executor_.seconds[model::address(&long_kernel)] = 300e-6;
    CUDA_CHECK(cudaMalloc(&to_, traced_words * sizeof(int)));
    CUDA_CHECK(cudaMemset(to_, 0, traced_words * sizeof(int)));
    CUDA_CHECK(cudaMallocHost(&host_, traced_words * sizeof(int)));
  }
  ~EventTraceTest() override { model::install_runtime(nullptr); }

  std::vector<TracedOperation> trace(const std::function<void()>& run) {
    model::current_runtime()->clear_records();
    return trace_by_events(
        run, [] { return model::current_runtime()->host_seconds(); },
        [](const void* kernel) { return std::string(model::readable_name(kernel)); });
  }
  static std::vector<TracedOperation> on_track(const std::vector<TracedOperation>& all,
                                               const std::string& track) {
    std::vector<TracedOperation> of;
    std::copy_if(all.begin(), all.end(), std::back_inserter(of),
                 [&](const TracedOperation& o) { return o.track == track; });
    return of;
  }
  static std::vector<model::Record> on_engine(model::Engine engine) {
    std::vector<model::Record> of;
    for (const model::Record& r : model::current_runtime()->records()) {
      if (r.engine == engine) of.push_back(r);
    }
    return of;
  }
  // What the events say of an engine against what was: every operation in its place and for as
  // long, but for its begin, which is that of its turn in the stream.
  void expect_engine(const std::vector<TracedOperation>& traced, const char* track,
                     model::Engine engine) {
    const auto seen = on_track(traced, track);
    const auto been = on_engine(engine);
    ASSERT_EQ(seen.size(), been.size());
    ASSERT_FALSE(seen.empty());
    const double shift = seen[0].end - been[0].end;  // the run's begin, and the clocks' difference
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (engine == model::Engine::compute) {
        EXPECT_EQ(seen[i].name, been[i].name);
      }
      EXPECT_EQ(seen[i].bytes, been[i].bytes);
      EXPECT_NEAR(seen[i].end - been[i].end, shift, resolution) << track << ' ' << i;
      EXPECT_LE(seen[i].begin, been[i].start + shift + resolution);
      EXPECT_GE(seen[i].begin, been[i].start + shift - slack_) << track << ' ' << i;
    }
  }

  const DeviceSpec device_ = device_spec("h200-sxm");
  // An event comes before its operation by the calls between them, and the latency of the command.
  const double slack_ = 3 * device_["launch_host_seconds"] + device_["launch_latency_seconds"];
  static constexpr double resolution = 1.01e-6;  // of two events
  model::DeviceMemory memory_{std::size_t{1} << 26};
  model::FakeExecutor executor_;
  int *to_ = nullptr, *host_ = nullptr;
};

TEST_F(EventTraceTest, AStreamsOperationsStandWhereTheyWere) {
  const Stream stream;
  const auto traced = trace([&] {
    for (int i = 0; i < 4; ++i) {
      CUDA_CHECK(
          cudaMemcpyAsync(to_, host_, traced_words * sizeof(int), cudaMemcpyHostToDevice, stream));
      launch(i % 2 == 0 ? long_kernel : short_kernel, 1, 1, 0, stream, to_);
      CUDA_CHECK(
          cudaMemcpyAsync(host_, to_, traced_words * sizeof(int), cudaMemcpyDeviceToHost, stream));
    }
    stream.synchronize();
  });
  expect_engine(traced, compute_track, model::Engine::compute);
  expect_engine(traced, to_device_track, model::Engine::copy_to_device);
  expect_engine(traced, to_host_track, model::Engine::copy_to_host);
  EXPECT_EQ(on_track(traced, "stream 1").size(), 12u);
  const auto host = on_track(traced, host_track);
  ASSERT_EQ(host.size(), 13u);
  EXPECT_EQ(host.back().name, "cudaStreamSynchronize");
  for (std::size_t i = 0; i < 12; ++i) {  // nothing begins before the host asks for it
    EXPECT_GE(on_track(traced, "stream 1")[i].begin, host[i].begin - resolution);
  }
  // The wait ends when the last copy has.
  EXPECT_NEAR(host.back().end, on_track(traced, to_host_track).back().end,
              device_["sync_host_seconds"] + device_["launch_latency_seconds"]);
  EXPECT_EQ(call_listener, nullptr);
}

TEST_F(EventTraceTest, OverlapShows) {
  const Stream one, other;
  const auto traced = trace([&] {
    launch(long_kernel, 1, 1, 0, one, to_);
    constexpr std::size_t set = 64;
    CUDA_CHECK(cudaMemcpyAsync(host_, to_ + set / sizeof(int), traced_words * sizeof(int) - set,
                               cudaMemcpyDeviceToHost, other));
    CUDA_CHECK(cudaMemsetAsync(to_, 0, set, one));
    CUDA_CHECK(cudaDeviceSynchronize());
  });
  const auto kernels = on_track(traced, "stream 1"), copies = on_track(traced, "stream 2");
  ASSERT_EQ(kernels.size(), 2u);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_LT(copies[0].begin, kernels[0].end);
  EXPECT_LT(copies[0].end, kernels[0].end);
  EXPECT_GE(kernels[1].begin, kernels[0].end);
  EXPECT_NE(kernels[0].name.find("long_kernel"), std::string::npos) << kernels[0].name;
  EXPECT_EQ(kernels[1].bytes, 64);
}

TEST_F(EventTraceTest, AGraphIsOneSpanAndACaptureNone) {
  const Stream stream;
  const auto traced = trace([&] {
    const ExecutableGraph graph([&](cudaStream_t s) {
      for (int i = 0; i < 3; ++i) launch(long_kernel, 1, 1, 0, s, to_);
    });
    graph.launch(stream);
    stream.synchronize();
  });
  const auto graphs = on_track(traced, "stream 1");
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].name, "cudaGraphLaunch");
  EXPECT_NEAR(graphs[0].end - graphs[0].begin, 3 * 300e-6, 30e-6);
  EXPECT_TRUE(on_track(traced, compute_track).empty());
  EXPECT_EQ(on_track(traced, host_track).size(), 5u);  // the captured launches too
}

TEST_F(EventTraceTest, AFailureEndsTheTrace) {
  EXPECT_THROW(trace([&] { launch(long_kernel, 0, 1, 0, nullptr, to_); }), CudaError);
  EXPECT_EQ(call_listener, nullptr);
  EXPECT_EQ(on_track(trace([&] {
                       launch(short_kernel, 1, 1, 0, nullptr, to_);
                       CUDA_CHECK(cudaDeviceSynchronize());
                     }),
                     legacy_track)
                .size(),
            1u);
}

TEST(Demangle, KernelsAreKnownWithoutTheirTypes) {
  EXPECT_EQ(without_types(demangled("_ZN1k4copyIfEEvPT_i")), "k::copy<float>");
  EXPECT_EQ(without_types(demangled("_ZN12_GLOBAL__N_14copyEPf")), "(anonymous namespace)::copy");
  EXPECT_EQ(without_types(demangled("main")), "main");
}

}  // namespace
}  // namespace gpubench
