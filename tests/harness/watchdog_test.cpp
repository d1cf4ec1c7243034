// Memory that short work takes is judged when the work ends.
#include "harness/system/watchdog.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
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

}  // namespace
}  // namespace gpubench
