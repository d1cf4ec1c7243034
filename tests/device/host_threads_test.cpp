// Threads of the host: of the system, or the model's in virtual time.
#include "harness/platform/host_threads.hpp"

#include <vector>

#include "harness/cuda/thread_spans.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

class HostThreadsOnDevice : public KernelTest {
 protected:
  static constexpr double length = 2e-3;

  // The spans of `jobs` jobs on `threads` threads, awaited in turn.
  static std::vector<TracedOperation> spans_of(unsigned threads, std::size_t jobs) {
    HostThreads host(threads);
    std::vector<int> done(jobs);
    ThreadSpans::all().begin();
    for (std::size_t j = 0; j < jobs; ++j) {
      EXPECT_EQ(host.start([&done, j] { ++done[j]; }, length), j);
    }
    for (std::size_t j = 0; j < jobs; ++j) {
      host.wait(j);
      EXPECT_EQ(done[j], 1);
      EXPECT_GE(host.done(), j + 1);
    }
    EXPECT_EQ(host.done(), jobs);
    return ThreadSpans::all().end(0);
  }
  static std::vector<TracedOperation> jobs_of(const std::vector<TracedOperation>& spans) {
    std::vector<TracedOperation> jobs;
    for (const TracedOperation& span : spans) {
      if (span.name == "job") jobs.push_back(span);
    }
    return jobs;
  }
};

TEST_F(HostThreadsOnDevice, JobsOfOneThreadFollowEachOther) {
  const auto jobs = jobs_of(spans_of(1, 3));
  ASSERT_EQ(jobs.size(), 3u);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    EXPECT_EQ(jobs[j].track, "thread 1");
    EXPECT_GE(jobs[j].end - jobs[j].begin, 0.999 * length);
    if (j > 0) {
      EXPECT_GE(jobs[j].begin, jobs[j - 1].end);
    }
  }
}

TEST_F(HostThreadsOnDevice, SeveralWorkSideBySide) {
  const auto jobs = jobs_of(spans_of(2, 2));
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_NE(jobs[0].track, jobs[1].track);
  EXPECT_LT(jobs[1].begin, jobs[0].end);
  EXPECT_LT(jobs[0].begin, jobs[1].end);
}

TEST_F(HostThreadsOnDevice, WithoutAThreadTheCallerDoesAJobWhenItWaits) {
  const auto jobs = jobs_of(spans_of(0, 2));
  ASSERT_EQ(jobs.size(), 2u);
  for (const TracedOperation& job : jobs) EXPECT_EQ(job.track, host_track);
  HostThreads none(0);
  none.start([] {}, length);
  EXPECT_EQ(none.done(), 0u);
}

TEST_F(HostThreadsOnDevice, SpansAreKeptOnlyWhileSomebodyTraces) {
  spans_of(1, 1);
  HostThreads host(1);
  host.wait(host.start([] {}, length));
  ThreadSpans::all().begin();
  EXPECT_TRUE(ThreadSpans::all().end(0).empty());
}

}  // namespace
}  // namespace gpubench
