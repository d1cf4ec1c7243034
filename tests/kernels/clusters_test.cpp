#include "harness/bench/multicast.hpp"
#include "tests/kernels/clusters_runs.hpp"

namespace gpubench {
namespace {

using namespace clusters;

class ClustersKernels : public ClustersRuns {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (const std::string why = too_old_for({9, 0}); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_F(ClustersKernels, AChaseEndsWhereTheRingSays) {
  for (const unsigned cluster : sizes) {
    for (const unsigned stretches : {1u, 2u, 9u}) chase_in(cluster, stretches * stretch);
  }
}

TEST_F(ClustersKernels, ABarrierShowsWhatTheNextBlockWroteBefore) {
  for (const unsigned cluster : sizes) {
    for (const unsigned rounds : {1u, 2u, 33u}) meet_in(cluster, rounds);
  }
}

TEST_F(ClustersKernels, EveryBlockReadsTheNextOnesMemory) {
  for (const unsigned cluster : sizes) read_in(cluster, 3);
}

TEST_F(ClustersKernels, ATileComesToAllBlocksWhoeverReadsIt) {
  if (!has_shared_bytes(tile_shared_bytes)) GTEST_SKIP() << "too little shared memory";
  for (const auto& [cluster, tiles] : {std::pair{1u, 5u}, {2u, 40u}, {4u, 5u}, {8u, 7u}}) {
    bring_in<false>(cluster, 2, tiles);
    if (why_no_multicast().empty()) bring_in<true>(cluster, 2, tiles);
  }
}

TEST_F(ClustersKernels, SumsOfAnyLength) {
  constexpr std::size_t a_round = vectors_a_round;
  for (const unsigned cluster : sizes) {
    for (const std::size_t vectors :
         {std::size_t{1}, a_round - 1, a_round, 3 * a_round + 17, 20 * a_round + 1}) {
      sum_in(cluster, 2, vectors);
    }
  }
}

TEST_F(ClustersKernels, LaunchesInClustersCountThemselves) {
  const auto count = output<unsigned>(1);
  count.set(0);
  for (const unsigned cluster : {1u, 2u, 4u, 8u}) {
    launch_cluster(empty, cluster, empty_blocks, empty_threads, 0, nullptr, count.data());
  }
  expect_elements(count, AlwaysTheSame{1 + 2 + 4 + 8});
}

TEST_F(ClustersKernels, TheLargestClusterRuns) {
  const unsigned most = largest_cluster(clusters::read, read_threads, read_shared_bytes);
  ASSERT_GE(most, portable_cluster_blocks);
  ASSERT_LE(most, most_cluster_blocks);
  read_in(most, 1);
}

}  // namespace
}  // namespace gpubench
