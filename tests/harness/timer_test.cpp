// The timer and the gate, on the model device with kernels of known durations: whatever does not
// belong into a sample is a known number of seconds and would show. Kernels are loaded lazily here,
// as on a GPU, so that a first run behind a gate would block.
#include "harness/timing/timer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/lanes.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/timing/gate.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench {
namespace {

using namespace std::chrono_literals;

[[maybe_unused]] __global__ void tiny() {}
[[maybe_unused]] __global__ void small() {}
[[maybe_unused]] __global__ void large() {}

constexpr double tiny_seconds = 0.1e-6;
constexpr double small_seconds = 10e-6;
constexpr double large_seconds = 80e-6;
constexpr double nanosecond = 1e-9;

class TimerTest : public testing::Test {
 protected:
  TimerTest() {
    executor_.seconds = {{model::address(tiny), tiny_seconds},
                         {model::address(small), small_seconds},
                         {model::address(large), large_seconds}};
    settings_.warmup_seconds = 0;
    install({.deadlock_after = 2000ms, .lazy_loading = true});
  }
  ~TimerTest() override { model::install_runtime(nullptr); }

  void install(model::RuntimeOptions options) {
    model::install_runtime(std::make_unique<model::Runtime>(device_, memory_, executor_, options));
  }

  Timing time(const Body& body) {
    return time_body(
        body, [this] { ++rotations_; }, settings_);
  }
  static Body run(void (*kernel)(), int times = 1) {
    return [=](cudaStream_t stream) {
      for (int i = 0; i < times; ++i) launch(kernel, 1, 32, 0, stream);
    };
  }
  // Up to 6 us more, different for every launch.
  void make_noise() {
    executor_.extra_seconds = [generator = std::minstd_rand(1)](std::size_t) mutable {
      return std::uniform_real_distribution<double>(0, 6e-6)(generator);
    };
  }
  static void expect_all_near(const std::vector<double>& samples, double seconds) {
    for (const double sample : samples) EXPECT_NEAR(sample, seconds, nanosecond);
  }
  static double longest(const Timing& timing) {
    return *std::max_element(timing.seconds.begin(), timing.seconds.end());
  }

  const DeviceSpec device_ = device_spec("h200-sxm");
  model::DeviceMemory memory_{std::size_t{1} << 26};
  model::FakeExecutor executor_;
  TimerSettings settings_;
  int rotations_ = 0;
};

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
  expect_all_near(timing.seconds, small_seconds + large_seconds);
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

// --- hot ---

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

// --- what is never gated ---

TEST_F(TimerTest, ABodyThatSynchronisesIsFoundOut) {
  const Timing timing = time([](cudaStream_t stream) {
    launch(small, 1, 32, 0, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
  });
  EXPECT_FALSE(timing.gated);
  EXPECT_NE(timing.not_gated_because.find("may block the host"), std::string::npos);
  EXPECT_NE(timing.not_gated_because.find("cudaStreamSynchronize"), std::string::npos);
  EXPECT_EQ(timing.discarded, 0U);
  EXPECT_EQ(timing.seconds.size(), settings_.stop.min_samples);
}

TEST_F(TimerTest, ABodyThatAllocatesIsFoundOut) {
  const Timing timing = time([](cudaStream_t stream) {
    const DeviceBuffer<int> scratch(1);
    launch(small, 1, 32, 0, stream);
  });
  EXPECT_FALSE(timing.gated);
  EXPECT_NE(timing.not_gated_because.find("may block the host"), std::string::npos);
}

TEST_F(TimerTest, ABodyThatHidesItsErrorsIsFoundOut) {
  const Timing timing = time([](cudaStream_t stream) {
    launch(small, 1, 32, 0, stream);
    static_cast<void>(cudaDeviceSynchronize());
  });
  EXPECT_FALSE(timing.gated);
}

TEST_F(TimerTest, MoreOperationsThanFitAreNotGated) {
  const int fit = static_cast<int>(max_gated_operations) - 3;  // with a gate and two events
  EXPECT_TRUE(time(run(tiny, fit)).gated);
  const Timing timing = time(run(tiny, fit + 1));
  EXPECT_FALSE(timing.gated);
  EXPECT_NE(timing.not_gated_because.find("queues 510 operations"), std::string::npos)
      << timing.not_gated_because;
}

TEST_F(TimerTest, ProfilingRunsOnceAndNothingElse) {
  settings_.profile = true;
  const Timing timing = time(run(small));
  EXPECT_EQ(executor_.executed, 1U);
  EXPECT_EQ(timing.seconds.size(), 1U);
  EXPECT_FALSE(timing.gated);
  EXPECT_EQ(timing.not_gated_because, "profiling");
}

TEST_F(TimerTest, ADeviceWithoutGatesIsTimedWithout) {
  install({.stream_memory_operations = false});
  const Timing timing = time(run(small));
  EXPECT_FALSE(timing.gated);
  EXPECT_NE(timing.not_gated_because.find("nothing to make a gate of"), std::string::npos);
  EXPECT_FALSE(timing.seconds.empty());
}

// A pageable copy can be captured, so nothing gives it away before it blocks.
TEST_F(TimerTest, TheWatchdogFreesAHostThatWaitsBehindTheGate) {
  settings_.gate_timeout_seconds = 0.05;
  const DeviceBuffer<int> device(4);
  const std::vector<int> pageable(4);
  const Timing timing = time([&](cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(device.data(), pageable.data(), device.bytes(),
                               cudaMemcpyHostToDevice, stream));
  });
  EXPECT_FALSE(timing.gated);
  EXPECT_EQ(timing.discarded, settings_.stop.min_samples);
  EXPECT_NE(timing.not_gated_because.find("0.05 s"), std::string::npos);
  EXPECT_NE(timing.not_gated_because.find("never gated are the first run of a kernel"),
            std::string::npos);
  EXPECT_EQ(timing.seconds.size(), settings_.stop.min_samples);
}

TEST_F(TimerTest, SamplesFromBeforeATimeOutAreDiscardedToo) {
  settings_.gate_timeout_seconds = 0.05;
  settings_.stop.max_samples = 40;
  make_noise();
  const DeviceBuffer<int> device(1);
  const int pageable = 0;
  std::size_t calls = 0;
  const Timing timing = time([&](cudaStream_t stream) {
    launch(small, 1, 32, 0, stream);
    if (++calls == 15) {  // in the second round of samples
      CUDA_CHECK(cudaMemcpyAsync(device.data(), &pageable, sizeof pageable, cudaMemcpyHostToDevice,
                                 stream));
    }
  });
  EXPECT_FALSE(timing.gated);
  EXPECT_GT(timing.discarded, settings_.stop.min_samples);
  for (const double sample : timing.seconds) {
    EXPECT_GE(sample, small_seconds + device_["launch_host_seconds"]) << "a gated sample is left";
  }
}

TEST_F(TimerTest, TheFirstRunOfAKernelIsNotGated) {
  const Timing timing = time(run(small));
  EXPECT_TRUE(timing.gated);
  EXPECT_EQ(timing.discarded, 0U);
}

TEST_F(TimerTest, GatedItWouldHaveBlocked) {
  const Stream stream;
  Gate gate(50ms);
  ASSERT_TRUE(gate.available());
  gate.close(stream);
  launch(small, 1, 32, 0, stream);  // returns only because the watchdog opens the gate
  EXPECT_FALSE(gate.open());
  gate.close(stream);
  launch(small, 1, 32, 0, stream);
  EXPECT_TRUE(gate.open()) << "it is loaded now";
  stream.synchronize();
}

// --- failures ---

TEST_F(TimerTest, WhatTheBodyThrowsComesOutEvenBehindAGate) {
  int calls = 0;
  EXPECT_THROW(time([&](cudaStream_t stream) {
                 launch(small, 1, 32, 0, stream);
                 if (++calls == 5) throw std::domain_error("of the body");
               }),
               std::domain_error);
  EXPECT_TRUE(time(run(small)).gated) << "nothing is left behind";
}

TEST_F(TimerTest, EveryFailingCallComesOutAndLeavesNothingBehind) {
  settings_.mode = Mode::hot;
  for (const char* call :
       {"cudaStreamCreateWithFlags", "cudaLaunchKernelEx", "cudaStreamSynchronize",
        "cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphGetNodes", "cudaHostAlloc",
        "cudaHostGetDevicePointer", "cuStreamWaitValue32", "cudaEventCreateWithFlags",
        "cudaEventRecord", "cudaEventElapsedTime", "cudaGraphInstantiate", "cudaGraphLaunch"}) {
    for (const std::size_t nth : {1U, 2U}) {
      if (nth == 2 && std::string(call) == "cudaGraphGetNodes") continue;  // called once
      if (nth == 2 && std::string(call).starts_with("cudaHost")) continue;
      model::current_runtime()->fail_call(call, nth, cudaErrorUnknown);
      try {
        static_cast<void>(time(run(small)));
        ADD_FAILURE() << call << ' ' << nth << " was ignored";
      } catch (const CudaError& error) {
        EXPECT_EQ(error.code(), cudaErrorUnknown) << call;
      }
      EXPECT_TRUE(time(run(small)).gated) << "after " << call;
    }
  }
}

}  // namespace
}  // namespace gpubench
