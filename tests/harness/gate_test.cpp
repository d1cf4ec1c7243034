// The gate where streams share hardware queues, and what CUDA's environment must not say.
#include "harness/timing/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/cuda/lanes.hpp"
#include "harness/platform/model/runtime/runtime.hpp"
#include "harness/system/cuda_environment.hpp"
#include "harness/system/error.hpp"
#include "harness/timing/timer.hpp"
#include "tests/model/fake_executor.hpp"

namespace gpubench {
namespace {

using namespace std::chrono_literals;

class GateInSharedQueues : public testing::TestWithParam<int> {
 protected:
  GateInSharedQueues() {
    model::RuntimeOptions options;
    options.deadlock_after = 500ms;
    options.conditions.ordering.hardware_queues = GetParam();
    options.diagnostic = [this](const std::string& line) { diagnostic_ = line; };
    model::install_runtime(
        std::make_unique<model::Runtime>(device_, memory_, executor_, std::move(options)));
  }
  ~GateInSharedQueues() override { model::install_runtime(nullptr); }

  const DeviceSpec device_ = device_spec("h200-sxm");
  model::DeviceMemory memory_{std::size_t{1} << 30};
  model::FakeExecutor executor_;
  std::string diagnostic_;
};

TEST_P(GateInSharedQueues, OpensWhateverStreamsTheBodyUses) {
  const DeviceBuffer<char> bytes(16);
  const Lanes lanes(8);
  TimerSettings settings;
  settings.warmup_seconds = 0;
  settings.stop = without_a_clock(settings.stop);
  const Timing timing = time_body(
      [&](cudaStream_t s) {
        lanes.fork(s);
        for (std::size_t i = 0; i < lanes.size(); ++i) {
          CUDA_CHECK(cudaMemsetAsync(bytes.data() + i, 0, 1, lanes[i]));
        }
        lanes.join(s);
      },
      [] {}, settings);
  EXPECT_TRUE(timing.gated) << timing.not_gated_because;
  EXPECT_EQ(timing.discarded, 0U);
  EXPECT_EQ(diagnostic_, "");
}

INSTANTIATE_TEST_SUITE_P(Queues, GateInSharedQueues, testing::Values(1, 2, 8, 32));

// Sets a variable for as long as this lives; nullptr: it is not set.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    const char* const before = std::getenv(name);
    if (before != nullptr) before_ = before;
    had_ = before != nullptr;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Environment() { had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

TEST(CudaEnvironment, AsksForAllConnectionsUnlessTheUserAsksForOthers) {
  constexpr const char* name = "CUDA_DEVICE_MAX_CONNECTIONS";
  {
    const Environment unset(name, nullptr);
    ask_for_connections();
    EXPECT_STREQ(std::getenv(name), "32");
  }
  const Environment one(name, "1");
  ask_for_connections();
  EXPECT_STREQ(std::getenv(name), "1");
}

TEST(CudaEnvironment, MustNotMakeLaunchesBlock) {
  for (const char* harmless : {static_cast<const char*>(nullptr), "", "0"}) {
    const Environment environment("CUDA_LAUNCH_BLOCKING", harmless);
    EXPECT_NO_THROW(refuse_blocking_launches());
  }
  const Environment environment("CUDA_LAUNCH_BLOCKING", "1");
  EXPECT_THROW(
      try { refuse_blocking_launches(); } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("CUDA_LAUNCH_BLOCKING"));
        EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
        throw;
      },
      UsageError);
}

}  // namespace
}  // namespace gpubench
