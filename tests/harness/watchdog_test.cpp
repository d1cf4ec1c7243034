// Memory that short work takes is judged when the work ends; time is the process's own.
#include "harness/system/watchdog.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "harness/system/child_processes.hpp"
#include "harness/system/host_memory.hpp"

namespace gpubench {
namespace {

constexpr int stopped_for_memory = 3;

void take_and_give_back() {
  const std::vector<char> much(std::size_t{128} << 20, 'x');
  if (much.back() != 'x') std::abort();  // so that it is written
}

// In a process of its own, with which it may occupy 64 MB more than after `before`.
ChildEnd guarded(const std::function<void()>& before, const std::function<void()>& work) {
  ChildProcesses children;
  return children.run([&] {
    Watchdog watchdog([](Watchdog::Over over) {
      std::_Exit(over == Watchdog::Over::memory ? stopped_for_memory : 1);
    });
    before();
    const double most = static_cast<double>(resident_bytes()) + 64e6;
    const auto guard = watchdog.guard(Watchdog::Seconds(100), most);
    work();
    return 0;
  });
}

void nothing() {}

TEST(Watchdog, SeesMemoryThatShortWorkHasGivenBack) {
  const ChildEnd end = guarded(nothing, take_and_give_back);
  EXPECT_EQ(end.exit_code, std::nullopt);
  EXPECT_EQ(end.early_exit, stopped_for_memory);
}

TEST(Watchdog, BlamesNoWorkForWhatEarlierWorkTook) {
  EXPECT_EQ(guarded(take_and_give_back, nothing).exit_code, 0);
}

TEST(Watchdog, CountsNoTimeInWhichTheProcessIsStopped) {
  const pid_t process = fork();
  if (process == 0) {
    Watchdog watchdog([](Watchdog::Over) { std::_Exit(1); });
    const auto guard = watchdog.guard(Watchdog::Seconds(0.9), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the watch has begun
    raise(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it looks at the clock
    std::_Exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(process, &status, WUNTRACED), process);
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(process, SIGCONT);
  ASSERT_EQ(waitpid(process, &status, 0), process);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace gpubench
