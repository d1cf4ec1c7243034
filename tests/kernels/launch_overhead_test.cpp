#include "kernels/launch_overhead.cuh"

#include <vector>

#include "harness/cuda/graph.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace launch_overhead;

class LaunchOverheadKernels : public KernelTest {
 protected:
  template <class Launch>
  unsigned counted(unsigned launches, const Launch& once) {
    const DeviceBuffer<unsigned> count(std::vector<unsigned>{0});
    for (unsigned i = 0; i < launches; ++i) once(nullptr, count.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    return count.download()[0];
  }
  template <unsigned bytes>
  void pass() {
    SCOPED_TRACE(bytes);
    Payload<bytes> payload{};
    payload.words[bytes / 4 - 1] = bytes + 1;
    const auto arrived = output<unsigned>(1);
    launch(with_arguments<bytes>, 1, threads, 0, nullptr, arrived.data(), payload);
    expect_elements(arrived, ExpectedPayload{bytes + 1});
  }
};

TEST_F(LaunchOverheadKernels, BlocksThatMeetSeeWhatTheNextOneWroteBefore) {
  for (const unsigned blocks : {1u, 2u, 9u}) {
    for (const unsigned rounds : {1u, 2u, 17u}) {
      SCOPED_TRACE(testing::Message() << blocks << " blocks, " << rounds << " rounds");
      const auto words = output<unsigned>(blocks), ends = output<unsigned>(blocks);
      launch_cooperative(meet, blocks, meeting_threads, 0, nullptr, rounds, words.data(),
                         ends.data());
      expect_elements(ends, ExpectedMeeting{rounds, blocks});
    }
  }
}

TEST_F(LaunchOverheadKernels, EveryLaunchOfARowCountsItself) {
  for (const unsigned launches : {0u, 1u, 7u, 64u}) {
    EXPECT_EQ(
        counted(launches, [](cudaStream_t s, unsigned* n) { launch(empty, 1, threads, 0, s, n); }),
        launches);
  }
}

TEST_F(LaunchOverheadKernels, ALaunchThatMayComeEarlyCountsItselfInItsTurn) {
  if (const std::string why = too_old_for({9, 0}); !why.empty()) GTEST_SKIP() << why;
  for (const unsigned launches : {1u, 7u, 64u}) {
    EXPECT_EQ(counted(launches,
                      [](cudaStream_t s, unsigned* n) {
                        launch_programmatic(empty_early, 1, threads, 0, s, n);
                      }),
              launches);
  }
}

TEST_F(LaunchOverheadKernels, AnEmptyKernelTouchesNothing) {
  launch(empty, 1, threads, 0, nullptr, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
}

TEST_F(LaunchOverheadKernels, ArgumentsOfAnySizeArrive) {
  pass<4>();
  pass<8>();
  pass<64>();
  pass<4088>();
  pass<32756>();
}

TEST_F(LaunchOverheadKernels, FreshKernelsAreAllDifferent) {
  const auto out = output<unsigned>(fresh_kernels);
  for (const auto kernel : fresh_ones) launch(kernel, 1, threads, 0, nullptr, out.data());
  expect_elements(out, ExpectedFresh{});
}

TEST(LaunchLaw, IsTheSlowerOfHostAndFrontEnd) {
  constexpr Costs costs{.call = 2, .floor = 3, .in_stream = 4, .in_graph = 1, .graph_launch = 1};
  static_assert(costs.spacing(By::stream, 0) == 4);
  static_assert(costs.spacing(By::graph, 0) == 1);
  // In the stream the whole floor fits into the spacing; in the graph a third of it counts.
  static_assert(costs.spacing(By::stream, 0.5) == 4);
  static_assert(costs.spacing(By::stream, 10) == 13);
  static_assert(costs.spacing(By::graph, 10) == 11);
  static_assert(costs.row(By::stream, 1, 0) == 4);
  static_assert(costs.row(By::stream, 5, 0) == 4 * 4 + 3);
  static_assert(costs.row(By::graph, 5, 10) == 1 + 4 * 11 + 13);
  constexpr Costs slow_host{
      .call = 9, .floor = 3, .in_stream = 4, .in_graph = 1, .graph_launch = 1};
  static_assert(slow_host.spacing(By::stream, 0) == 9);
  static_assert(slow_host.spacing(By::graph, 0) == 1);
  // Its call for the event after ends later than the kernel.
  static_assert(slow_host.row(By::stream, 2, 0) == 3 * 9);
  static_assert(slow_host.row(By::graph, 2, 0) == 9 + 9);
  static_assert(slow_host.row(By::graph, 2, 20) == 1 + 21 + 23);
  EXPECT_DOUBLE_EQ(length_for_share(2e-6, 0.05), 38e-6);
}

}  // namespace
}  // namespace gpubench
