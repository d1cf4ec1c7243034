// What runs beside a measurement: on which cores, how, and until when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <thread>

#include "harness/system/background_program.hpp"
#include "harness/system/child_processes.hpp"
#include "harness/system/cores.hpp"
#include "harness/system/exit_code.hpp"

namespace gpubench {
namespace {

using testing::ElementsAre;

class Background : public testing::Test {
 protected:
  Background() { std::filesystem::create_directory(folder_); }
  ~Background() override { std::filesystem::remove_all(folder_); }

  // Until it has ended, or something else is there.
  static bool in_time(const std::function<bool()>& is_there) {
    for (int i = 0; i < 1000 && !is_there(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return is_there();
  }
  static int code_of(BackgroundProgram& program) {
    in_time([&] { return program.exit_code().has_value(); });
    return program.exit_code().value_or(-1);
  }
  std::string said() const {
    std::ifstream file(errors_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("gpubench-test-" + std::to_string(getpid()));
  const std::filesystem::path errors_ = folder_ / "errors";
};

TEST_F(Background, EndsWithItsExitCodeOrTheSignalThatEndedIt) {
  BackgroundProgram bad({"/bin/sh", "-c", "echo why >&2; exit 3"}, errors_, {});
  EXPECT_EQ(code_of(bad), 3);
  EXPECT_EQ(said(), "why\n");
  BackgroundProgram killed({"/bin/sh", "-c", "kill -9 $$"}, errors_, {});
  EXPECT_EQ(code_of(killed), 128 + 9);
  BackgroundProgram absent({"/nonexistent/program"}, errors_, {});
  EXPECT_EQ(code_of(absent), 127);
}

TEST_F(Background, RunsAtTheLowestPriorityOnTheCpusThatItIsGiven) {
  const int cpu = allowed_cpus().back();
  BackgroundProgram program(
      {"/bin/sh", "-c", "nice >&2; grep Cpus_allowed_list /proc/self/status >&2"}, errors_, {cpu});
  EXPECT_EQ(code_of(program), 0);
  EXPECT_EQ(said(), "19\nCpus_allowed_list:\t" + std::to_string(cpu) + "\n");
}

TEST_F(Background, IsEndedWithItsObject) {
  const auto there = folder_ / "there";
  pid_t process = 0;
  {
    BackgroundProgram program(
        {"/bin/sh", "-c", "echo $$ > " + there.string() + "; exec sleep 1000"}, errors_, {});
    ASSERT_TRUE(in_time([&] { return bool(std::ifstream(there) >> process); }));
    EXPECT_EQ(program.exit_code(), std::nullopt);
    EXPECT_EQ(kill(process, 0), 0);
  }
  EXPECT_NE(kill(process, 0), 0);
}

// Four CPUs, two a core, as Linux numbers them.
Core two_threads(int cpu) { return {0, cpu % 2}; }

// Whoever reads what they print waits for as long as one of them has it open.
TEST(Children, LeaveNoProcessBehind) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ChildProcesses children;
  const ChildEnd end = children.run([] {
    if (fork() != 0) return 0;
    if (fork() == 0) setsid();
    sleep(60);
    _exit(0);
  });
  close(ends[1]);
  EXPECT_EQ(end.exit_code, 0);
  pollfd reader{ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&reader, 1, 10'000), 1);
  close(ends[0]);
}

TEST(Cores, AreSharedWhole) {
  const auto shares = share({0, 1, 2, 3}, two_threads);
  ASSERT_TRUE(shares);
  EXPECT_THAT(shares->own, ElementsAre(0, 2));
  EXPECT_THAT(shares->other, ElementsAre(1, 3));
}

TEST(Cores, BothHaveSomeOfEverySocket) {
  const auto shares = share({0, 1, 2, 3}, [](int cpu) { return Core(cpu / 2, cpu % 2); });
  ASSERT_TRUE(shares);
  EXPECT_THAT(shares->own, ElementsAre(0, 2));
  EXPECT_THAT(shares->other, ElementsAre(1, 3));
}

TEST(Cores, OneIsNotShared) {
  EXPECT_FALSE(share({0}, two_threads));
  EXPECT_FALSE(share({1, 3}, two_threads));
}

TEST(Cores, EveryThreadStaysOnItsShare) {
  const std::vector<int> all = allowed_cpus();
  if (all.size() < 2) GTEST_SKIP() << "one CPU";
  std::vector<int> seen;
  std::jthread other([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
    seen = allowed_cpus();
  });
  stay_on({all.back()});
  EXPECT_THAT(allowed_cpus(), ElementsAre(all.back()));
  other.request_stop();
  other.join();
  EXPECT_THAT(seen, ElementsAre(all.back()));
  stay_on(all);
}

TEST(ExitCode, NamesTheLimitOfThreads) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      exit_code_of([]() -> int {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
      }),
      1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("(ulimit -u"));
}

}  // namespace
}  // namespace gpubench
