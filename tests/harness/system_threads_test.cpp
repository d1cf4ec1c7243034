// Threads of the system, as the GPU's program has them; the model's are tested in tests/device.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "harness/cuda/thread_spans.hpp"
#define HostThreads SystemThreads
#include "harness/platform/host_threads.hpp"
#undef HostThreads

namespace gpubench {
namespace {

constexpr double length = 5e-3;

std::vector<TracedOperation> jobs_of(const std::vector<TracedOperation>& spans) {
  std::vector<TracedOperation> jobs;
  for (const TracedOperation& span : spans) {
    if (span.name == "job") jobs.push_back(span);
  }
  return jobs;
}

TEST(SystemThreads, DoAllJobsInTheirOrder) {
  SystemThreads threads(1);
  std::vector<int> order;
  ThreadSpans::all().begin();
  for (int j = 0; j < 3; ++j) threads.start([&order, j] { order.push_back(j); }, length);
  threads.wait(2);
  EXPECT_EQ(threads.done(), 3u);
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
  const auto jobs = jobs_of(ThreadSpans::all().end(0));
  ASSERT_EQ(jobs.size(), 3u);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    EXPECT_EQ(jobs[j].track, "thread 1");
    EXPECT_GE(jobs[j].end - jobs[j].begin, length);
    if (j > 0) {
      EXPECT_GE(jobs[j].begin, jobs[j - 1].end);
    }
  }
}

TEST(SystemThreads, WorkSideBySide) {
  SystemThreads threads(2);
  ThreadSpans::all().begin();
  threads.start([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, length);
  threads.start([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, length);
  threads.wait(0);
  threads.wait(1);
  const auto jobs = jobs_of(ThreadSpans::all().end(0));
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_NE(jobs[0].track, jobs[1].track);
  EXPECT_LT(jobs[1].begin, jobs[0].end);
  EXPECT_LT(jobs[0].begin, jobs[1].end);
}

TEST(SystemThreads, WithoutAThreadTheCallerDoesAJobWhenItWaits) {
  SystemThreads none(0);
  std::thread::id worker;
  const std::size_t job = none.start([&worker] { worker = std::this_thread::get_id(); }, 0);
  EXPECT_EQ(none.done(), 0u);
  none.wait(job);
  EXPECT_EQ(none.done(), 1u);
  EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST(SystemThreads, EndWithoutTheJobsThatNobodyHasBegun) {
  std::size_t done = 0;
  {
    SystemThreads threads(1);
    for (int j = 0; j < 1000; ++j) threads.start([&done] { ++done; }, 1e-3);
    threads.wait(0);
  }
  EXPECT_GE(done, 1u);
  EXPECT_LT(done, 1000u);
}

}  // namespace
}  // namespace gpubench
