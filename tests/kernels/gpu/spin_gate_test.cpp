// The gate of devices whose driver has no stream memory operations, which others never come by.
#include "harness/platform/spin_gate.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "harness/cuda/event.hpp"
#include "harness/cuda/stream.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace std::chrono_literals;

class SpinGate : public KernelTest {
 protected:
  // Queues a gate that opens at `ticket` or after `seconds`.
  void queue(std::uint32_t ticket, double seconds) {
    CUDA_CHECK(launch_spin_gate(word_.device_data(), ticket, seconds, stream()));
  }
  void store(std::uint32_t ticket) {
    std::atomic_ref<std::uint32_t>(word_[0]).store(ticket, std::memory_order_release);
  }
  cudaStream_t stream() const { return *stream_; }

  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    word_ = PinnedBuffer<std::uint32_t>(1);
    stream_.emplace();
    store(0);
    queue(0, 1);  // the first run of a kernel
    stream_->synchronize();
  }

  PinnedBuffer<std::uint32_t> word_;
  std::optional<Stream> stream_;  // none before there is a device
};

TEST_F(SpinGate, OpensWhenItsTicketComes) {
  for (std::uint32_t ticket = 1; ticket < 10; ++ticket) {
    const Event passed;
    queue(ticket, 5);
    passed.record(stream());
    std::this_thread::sleep_for(5ms);
    EXPECT_FALSE(passed.has_happened()) << ticket;
    store(ticket);
    passed.synchronize();
  }
}

TEST_F(SpinGate, TicketsMayWrapAround) {
  store(0xffffffffu);
  queue(1, 5);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(cudaStreamQuery(stream()), cudaErrorNotReady);
  static_cast<void>(cudaGetLastError());
  store(2);  // and past it
  stream_->synchronize();
}

TEST_F(SpinGate, EndsByItself) {
  const auto begin = std::chrono::steady_clock::now();
  queue(1000, 0.05);
  stream_->synchronize();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(took.count(), 0.045);
  EXPECT_LT(took.count(), 1);
}

}  // namespace
}  // namespace gpubench
