// The gate in a real stream of whatever device there is, and the timer that rests on it. (What a
// sample holds and what it does not: tests/harness/timer_test.cpp, where durations are known.)
#include "harness/timing/gate.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "harness/cuda/event.hpp"
#include "harness/timing/timer.hpp"
#include "tests/device/waiting.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace std::chrono_literals;

class GateOnDevice : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    number_ = DeviceBuffer<int>(1);
    launch_set_late(stream(), number_.data(), 1);  // the first run of a kernel is never gated
    CUDA_CHECK(cudaStreamSynchronize(stream()));
  }
  int number() const { return number_.download().front(); }
  void set(int value) { launch_set_late(stream(), number_.data(), value); }
  cudaStream_t stream() {
    if (!stream_) stream_.emplace();
    return *stream_;
  }
  Body late() {
    return [this](cudaStream_t s) { launch_set_late(s, number_.data(), 2); };
  }

  std::optional<Stream> stream_;
  DeviceBuffer<int> number_;
};

TEST_F(GateOnDevice, HoldsWhatIsQueuedUntilItOpens) {
  Gate gate(10s);
  ASSERT_TRUE(gate.available());
  const Stream other;
  const DeviceBuffer<int> elsewhere(1);
  for (int round = 2; round < 20; ++round) {
    const Event done;
    gate.close(stream());
    set(round);
    done.record(stream());
    for (int i = 0; i < 3; ++i) launch_set_late(other, elsewhere.data(), i);  // takes longer
    other.synchronize();
    EXPECT_FALSE(done.has_happened()) << round;
    EXPECT_TRUE(gate.open()) << round;
    done.synchronize();
    EXPECT_EQ(number(), round);
  }
}

TEST_F(GateOnDevice, HoldsAsManyOperationsAsItSays) {
  Gate gate(10s);
  ASSERT_TRUE(gate.available());
  const auto begin = std::chrono::steady_clock::now();
  gate.close(stream());
  // With the gate's own: a full queue would block the host until the gate times out.
  for (std::size_t i = 1; i < max_gated_operations; ++i) {
    CUDA_CHECK(cudaMemsetAsync(number_.data(), static_cast<int>(i % 256), 1, stream()));
  }
  EXPECT_TRUE(gate.open());
  CUDA_CHECK(cudaStreamSynchronize(stream()));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  EXPECT_EQ(number(), static_cast<int>((max_gated_operations - 1) % 256));
}

TEST_F(GateOnDevice, OpensByItselfForAHostThatWaits) {
  Gate gate(50ms);
  ASSERT_TRUE(gate.available());
  gate.close(stream());
  set(7);
  CUDA_CHECK(cudaStreamSynchronize(stream()));  // returns only because the watchdog opens the gate
  EXPECT_EQ(number(), 7);
  EXPECT_FALSE(gate.open());
  gate.close(stream());
  set(8);
  EXPECT_TRUE(gate.open()) << "the next time is a new one";
  CUDA_CHECK(cudaStreamSynchronize(stream()));
  EXPECT_EQ(number(), 8);
}

TEST_F(GateOnDevice, ThatGoesAwayIsOpen) {
  {
    Gate gate(10s);
    gate.close(stream());
    set(9);
  }
  CUDA_CHECK(cudaStreamSynchronize(stream()));
  EXPECT_EQ(number(), 9);
}

TEST_F(GateOnDevice, SamplesColdAndHotAreGatedAndAsLongAsTheKernel) {
  for (const Mode mode : {Mode::cold, Mode::hot}) {
    TimerSettings settings;
    settings.mode = mode;
    settings.warmup_seconds = 0.01;
    settings.stop.budget_seconds = 0.5;
    const Timing timing = time_body(
        late(), [] {}, settings);
    EXPECT_TRUE(timing.gated) << timing.not_gated_because;
    EXPECT_EQ(timing.discarded, 0U);
    EXPECT_GE(timing.seconds.size(), settings.stop.min_samples);
    const double least = *std::min_element(timing.seconds.begin(), timing.seconds.end());
    EXPECT_GE(least, least_chain_seconds);
    EXPECT_LT(least, 20 * least_chain_seconds) << "the rest is not the kernel's";
  }
}

TEST_F(GateOnDevice, ABodyThatSynchronisesIsFoundOut) {
  TimerSettings settings;
  settings.warmup_seconds = 0;
  settings.stop.budget_seconds = 0.5;
  const Timing timing = time_body(
      [this](cudaStream_t s) {
        late()(s);
        CUDA_CHECK(cudaStreamSynchronize(s));
      },
      [] {}, settings);
  EXPECT_FALSE(timing.gated);
  EXPECT_NE(timing.not_gated_because.find("may block the host"), std::string::npos)
      << timing.not_gated_because;
  EXPECT_EQ(timing.discarded, 0U);
  for (const double sample : timing.seconds) EXPECT_GE(sample, least_chain_seconds);
}

}  // namespace
}  // namespace gpubench
