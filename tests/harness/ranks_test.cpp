// GPUs that share a row's work: who they are, and that their streams wait for each other.
#include "harness/cuda/ranks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/cuda/launch.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/timing/timer.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench {
namespace {

[[maybe_unused]] __global__ void before() {}
[[maybe_unused]] __global__ void after() {}
[[maybe_unused]] __global__ void head_start() {}

class RanksTest : public testing::Test {
 protected:
  RanksTest() {
    executor_.seconds = {{model::address(before), 100e-6},
                         {model::address(after), 10e-6},
                         {model::address(head_start), 500e-6}};
    model::RuntimeOptions options;
    options.devices = options.node_devices = 8;
    model::install_runtime(
        std::make_unique<model::Runtime>(device_, memory_, executor_, std::move(options)));
  }
  ~RanksTest() override { model::install_runtime(nullptr); }

  static int current() {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    return device;
  }
  static std::vector<model::Record> named(const std::string& name) {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<model::Record> found;
    for (const model::Record& record : model::current_runtime()->records()) {
      if (record.name.find(name) != std::string::npos) found.push_back(record);
    }
    return found;
  }

  const DeviceSpec device_ = device_spec("h200-sxm");
  model::DeviceMemory memory_{std::size_t{1} << 26, 8};
  model::FakeExecutor executor_;
};

TEST_F(RanksTest, TooFewAreASkipThatSaysSo) {
  EXPECT_EQ(GpuRanks::why_not(8, 8), "");
  EXPECT_EQ(GpuRanks::why_not(2, 1), "needs 2 GPUs; there is 1");
  EXPECT_EQ(GpuRanks::why_not(16, 8), "needs 16 GPUs; there are 8");
}

TEST_F(RanksTest, TheyBeginWithTheDeviceOfTheRunAndLeaveItAsItWas) {
  ASSERT_EQ(cudaSetDevice(6), cudaSuccess);
  {
    const GpuRanks ranks(4, 8);
    EXPECT_EQ(ranks.count(), 4);
    EXPECT_EQ(ranks.local(), 4);
    std::vector<int> devices;
    ranks.each([&](int i) {
      EXPECT_EQ(ranks.device(i), current());
      EXPECT_EQ(ranks.rank(i), i);
      devices.push_back(current());
    });
    EXPECT_EQ(devices, (std::vector<int>{6, 7, 0, 1}));
    ASSERT_EQ(cudaSetDevice(3), cudaSuccess);
  }
  EXPECT_EQ(current(), 6);
}

TEST_F(RanksTest, ForkAndJoinOrderAllStreams) {
  const GpuRanks ranks(3, 8);
  const Stream first;
  launch(before, 1, 32, 0, first);
  ranks.fork(first);
  ranks.each([&](int i) { launch(after, 1, 32, 0, ranks.stream(i, first)); });
  ranks.join(first);
  launch(before, 1, 32, 0, first);
  const auto outer = named("before"), inner = named("after");
  ASSERT_EQ(outer.size(), 2u);
  ASSERT_EQ(inner.size(), 3u);
  for (const model::Record& record : inner) {
    EXPECT_GE(record.start, outer[0].end);
    EXPECT_LE(record.end, outer[1].start);
  }
}

TEST_F(RanksTest, MeetingWaitsForTheSlowest) {
  const GpuRanks ranks(3, 8);
  const Stream first;
  ASSERT_EQ(cudaSetDevice(ranks.device(2)), cudaSuccess);
  launch(before, 1, 32, 0, ranks.stream(2, first));
  ASSERT_EQ(cudaSetDevice(ranks.device(0)), cudaSuccess);
  ranks.meet(first);
  ranks.each([&](int i) { launch(after, 1, 32, 0, ranks.stream(i, first)); });
  const double slowest = named("before")[0].end;
  for (const model::Record& record : named("after")) EXPECT_GE(record.start, slowest);
}

TEST_F(RanksTest, PeersAreEnabledOnceAndMayBeAskedForAgain) {
  const GpuRanks ranks(2, 8);
  EXPECT_TRUE(ranks.let_access(0, 1));
  EXPECT_TRUE(ranks.let_access(0, 1));
  EXPECT_TRUE(model::current_runtime()->may_access(0, 1));
  EXPECT_FALSE(model::current_runtime()->may_access(1, 0));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(RanksTest, AHeadStartHidesTheHostAndIsNotCounted) {
  TimerSettings settings;
  settings.warmup_seconds = 0;
  settings.blocks_host = true;
  const GpuRanks ranks(8, 8);
  const auto body = [&](cudaStream_t s) {
    ranks.fork(s);
    ranks.each([&](int i) { launch(after, 1, 32, 0, ranks.stream(i, s)); });
    ranks.join(s);
  };
  const auto slowest = [&] {
    return time_body(
               body, [] {}, settings)
        .seconds.back();
  };
  EXPECT_GT(slowest(), 40e-6) << "the host issues one after the other";
  settings.head_start = [](cudaStream_t s, double) { launch(head_start, 1, 32, 0, s); };
  EXPECT_NEAR(slowest(), 10e-6, 3e-6);
}

TEST_F(RanksTest, AHeadStartIsAskedToOutlastTheQueueingThatWasSeen) {
  TimerSettings settings;
  settings.warmup_seconds = 0;
  settings.blocks_host = true;
  double host = 0;
  settings.now = [&] { return host; };
  constexpr double to_queue = 0.7e-3;
  std::vector<double> asked;
  settings.head_start = [&](cudaStream_t, double least_seconds) { asked.push_back(least_seconds); };
  time_body(
      [&](cudaStream_t s) {
        host += to_queue;
        launch(before, 1, 32, 0, s);
      },
      [] {}, settings);
  ASSERT_GE(asked.size(), 2U);
  EXPECT_EQ(asked[0], 0) << "nothing is known yet";
  EXPECT_GE(asked[1], to_queue);
}

TEST_F(RanksTest, EveryProcessDecidesByTheCommonValue) {
  TimerSettings settings;
  settings.warmup_seconds = 0;
  settings.blocks_host = true;
  settings.common = [](double mine) { return 3 * mine; };  // another process is slower
  const Timing timing =
      time_body([](cudaStream_t s) { launch(before, 1, 32, 0, s); }, [] {}, settings);
  EXPECT_NEAR(timing.seconds.front(), 3 * 100e-6, 20e-6);
}

}  // namespace
}  // namespace gpubench
