// What a sample holds, of single runs and of windows of several.
#include "harness/timing/timer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "harness/cuda/graph.hpp"
#include "harness/cuda/lanes.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/timing/gate.hpp"
#include "tests/harness/timer_fixture.hpp"

namespace gpubench {
namespace {

// --- cold ---

TEST_F(TimerTest, AGatedSampleIsTheKernelAndNothingElse) {
  const Timing timing = time(run(tiny));
  EXPECT_TRUE(timing.gated) << timing.not_gated_because;
  EXPECT_TRUE(timing.converged);
  EXPECT_EQ(timing.discarded, 0U);
  EXPECT_EQ(timing.seconds.size(), settings_.stop.min_samples) << "equal samples need no more";
  expect_all_near(timing.seconds, tiny_seconds);
}

TEST_F(TimerTest, WithoutAGateTheHostsLaunchLiesInside) {
  settings_.blocks_host = true;
  const Timing timing = time(run(tiny));
  EXPECT_FALSE(timing.gated);
  EXPECT_NE(timing.not_gated_because, "");
  for (const double sample : timing.seconds) {
    EXPECT_GE(sample, tiny_seconds + device_["launch_host_seconds"]);
  }
}

TEST_F(TimerTest, WorkInAnotherStreamDoesNotCount) {
  const Stream other;
  const Timing timing = time([&](cudaStream_t stream) {
    launch(large, 1, 32, 0, other);
    launch(small, 1, 32, 0, stream);
  });
  expect_all_near(timing.seconds, small_seconds);
}

TEST_F(TimerTest, TheSameWorkInTheTimedStreamDoesCount) {
  const Timing timing = time([&](cudaStream_t stream) {
    launch(large, 1, 32, 0, stream);
    launch(small, 1, 32, 0, stream);
  });
  // The second begins while the end of the first is still on its way.
  const double earlier = device_["kernel_floor_seconds"] - device_["launch_stream_seconds"];
  expect_all_near(timing.seconds, small_seconds + large_seconds - earlier);
}

// Two branches, as a program of several operations has them.
void run_branches(const Lanes& lanes, cudaStream_t stream) {
  lanes.fork(stream);
  launch(large, 1, 32, 0, lanes[0]);
  launch(small, 1, 32, 0, lanes[1]);
  launch(small, 1, 32, 0, lanes[1]);
  lanes.join(stream);
}

TEST_F(TimerTest, ForkedWorkCountsUntilItIsJoined) {
  const Lanes lanes(2);
  for (const Mode mode : {Mode::cold, Mode::hot}) {
    settings_.mode = mode;
    const Timing timing = time([&](cudaStream_t stream) { run_branches(lanes, stream); });
    EXPECT_TRUE(timing.gated) << timing.not_gated_because;
    for (const double sample : timing.seconds) {
      EXPECT_GE(sample, large_seconds - nanosecond) << "the longer branch";
      EXPECT_LT(sample, large_seconds + device_["launch_stream_seconds"] + nanosecond);
    }
  }
}

TEST_F(TimerTest, ForkedWorkThatBlocksTheHostCountsWithTheHostsTime) {
  settings_.blocks_host = true;
  const Lanes lanes(2);
  const Timing timing = time([&](cudaStream_t stream) {
    run_branches(lanes, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    run_branches(lanes, stream);
  });
  // The device idles from the end of the one until the host has heard of it and launched again.
  const double idle = device_["sync_host_seconds"] + device_["launch_latency_seconds"];
  for (const double sample : timing.seconds) {
    EXPECT_GT(sample, 2 * large_seconds + idle);
    EXPECT_LT(sample, 2 * large_seconds + idle + 20 * device_["launch_host_seconds"]);
  }
}

TEST_F(TimerTest, ASpikeDuringTheWarmUpIsInNoSample) {
  executor_.extra_seconds = [](std::size_t before) { return before < 3 ? 1e-3 : 0.0; };
  settings_.warmup_seconds = 0.02;
  expect_all_near(time(run(small)).seconds, small_seconds);
}

TEST_F(TimerTest, WithoutAWarmUpTheSameSpikeShows) {
  executor_.extra_seconds = [](std::size_t before) { return before < 3 ? 1e-3 : 0.0; };
  EXPECT_GT(longest(time(run(small))), 1e-3);
}

TEST_F(TimerTest, BuffersMoveOnBeforeEveryColdRun) {
  int runs = 0;
  const Timing timing = time([&](cudaStream_t stream) {
    ++runs;
    launch(small, 1, 32, 0, stream);
  });
  // The first run has its turn; the capture that counts operations runs nothing and has none.
  EXPECT_EQ(rotations_, runs - 1);
  EXPECT_EQ(static_cast<std::size_t>(rotations_), timing.seconds.size() + 1);
}

TEST_F(TimerTest, NoiseIsSampledUntilTheBudgetIsSpent) {
  make_noise();
  settings_.stop.budget_seconds = 10;
  settings_.stop.max_samples = 300;
  const Timing timing = time(run(small));
  EXPECT_FALSE(timing.converged);
  EXPECT_EQ(timing.seconds.size(), 300U);
  EXPECT_TRUE(timing.gated);
}

TEST_F(TimerTest, NoMoreIsQueuedBehindAGateThanFits) {
  make_noise();
  settings_.stop.max_samples = 50;
  const Timing timing = time(run(tiny, 100));
  EXPECT_TRUE(timing.gated);
  std::size_t most = 0;
  std::size_t queued = 0;
  for (const model::Record& record : model::current_runtime()->records()) {
    if (record.name.starts_with("value at")) queued = 0;
    if (record.name != "write value") most = std::max(most, ++queued);
  }
  EXPECT_LE(most, max_gated_operations);
  EXPECT_GT(most, max_gated_operations - 102) << "another sample would have fitted";
}

TEST_F(TimerTest, AGraphCountsAsWhatItLaunches) {
  make_noise();
  const ExecutableGraph graph(run(tiny, 200));
  EXPECT_EQ(graph.operation_count(), 200U);
  EXPECT_EQ(Graph([&](cudaStream_t s) { graph.launch(s), graph.launch(s); }).operation_count(),
            400U);
  const auto launch_graph = [](const ExecutableGraph& of) {
    return [&of](cudaStream_t s) { of.launch(s); };
  };
  settings_.stop.max_samples = 20;
  EXPECT_TRUE(time(launch_graph(graph)).gated);
  EXPECT_LE(most_behind_a_gate(), max_gated_operations);
  const ExecutableGraph long_graph(run(tiny, 600));
  const Timing timing = time(launch_graph(long_graph));
  EXPECT_FALSE(timing.gated);
  EXPECT_NE(timing.not_gated_because.find("queues 600 operations"), std::string::npos)
      << timing.not_gated_because;
}

// --- hot ---

TEST_F(TimerTest, NoMoreThanFitsIsQueuedBehindAGateByGraphsEither) {
  make_noise();
  settings_.mode = Mode::hot;
  settings_.stop.max_samples = 100;
  const Timing timing = time(run(tiny, 7));
  EXPECT_TRUE(timing.gated) << timing.not_gated_because;
  EXPECT_GT(timing.batch, 1U);
  EXPECT_LE(most_behind_a_gate(), max_gated_operations);
}

TEST_F(TimerTest, AHotWindowIsAGraphOfEnoughRuns) {
  settings_.mode = Mode::hot;
  const Timing timing = time(run(small));
  EXPECT_TRUE(timing.gated) << timing.not_gated_because;
  const auto batch = static_cast<double>(timing.batch);
  EXPECT_GE(batch * small_seconds, 50e-6 - small_seconds);
  EXPECT_LE(batch, 8);
  const double overhead = device_["launch_graph_seconds"];
  // A node begins while the end of the one before is still on its way.
  const double earlier = device_["kernel_floor_seconds"] - overhead;
  expect_all_near(timing.seconds, small_seconds + (overhead - (batch - 1) * earlier) / batch);
  ASSERT_TRUE(timing.empty_seconds.has_value());
  EXPECT_NEAR(*timing.empty_seconds, overhead, nanosecond);
  EXPECT_EQ(rotations_, 1) << "a hot run stays on its buffers";
}

TEST_F(TimerTest, AGraphIsNotTimedAtItsFirstLaunch) {
  settings_.mode = Mode::hot;
  static_cast<void>(time(run(small)));
  int events = 0;  // odd: between the two of a window
  int untimed = 0;
  for (const model::Record& record : model::current_runtime()->records()) {
    if (record.name == "event") ++events;
    if (record.name == "graph launch" && events % 2 == 0) ++untimed;
  }
  EXPECT_EQ(untimed, 4) << "a single run, the batch, a longer one, and the empty graph";
}

TEST_F(TimerTest, ShortRunsGetALongerWindow) {
  settings_.mode = Mode::hot;
  const Timing timing = time(run(tiny));
  EXPECT_GE(timing.seconds.front() * static_cast<double>(timing.batch), 100e-6);
  EXPECT_NEAR(timing.seconds.front(), device_["launch_graph_seconds"], 0.02e-6)
      << "the pace of a graph's nodes";
}

TEST_F(TimerTest, LongRunsNeedNoBatch) {
  settings_.mode = Mode::hot;
  EXPECT_EQ(time(run(large)).batch, 1U);
}

TEST_F(TimerTest, ABodyThatBlocksTheHostIsRepeatedInALoop) {
  settings_.mode = Mode::hot;
  settings_.blocks_host = true;
  const Timing timing = time([](cudaStream_t stream) {
    launch(small, 1, 32, 0, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
  });
  EXPECT_FALSE(timing.gated);
  EXPECT_FALSE(timing.empty_seconds.has_value());
  EXPECT_GT(timing.batch, 1U);
  EXPECT_GT(timing.seconds.front(), small_seconds + device_["sync_host_seconds"]);
}

}  // namespace
}  // namespace gpubench
