// Bodies that a gate must not stand before, and bodies that fail behind one.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/timing/gate.hpp"
#include "harness/timing/timer.hpp"
#include "tests/harness/timer_fixture.hpp"

namespace gpubench {
namespace {

using namespace std::chrono_literals;

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
  EXPECT_EQ(timing.gate_timeouts, 1U);
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
    EXPECT_GT(sample, small_seconds + nanosecond) << "a gated sample is left";
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
