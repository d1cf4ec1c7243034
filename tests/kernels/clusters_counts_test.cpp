#include "tests/kernels/clusters_runs.hpp"

namespace gpubench {
namespace {

using namespace clusters;

class ClustersCounts : public ClustersRuns {
 protected:
  const model::KernelProfile& profile() const { return emulator.runs().back().profile; }
  const model::AccessCounts& remote(model::Access kind) const {
    return profile().counts.at(model::Space::remote, kind);
  }
};

TEST_F(ClustersCounts, AChaseWaitsForEveryLoad) {
  constexpr unsigned steps = 8 * stretch;
  chase_in(4, steps);
  // The first two of each block's stretch are not seen to follow from the one before.
  EXPECT_NEAR(profile().waits.remote_chain / 4, steps, 2 * 8);  // of each of four blocks
  EXPECT_EQ(remote(model::Access::load).requests, steps);
  chase_in(1, steps);
  EXPECT_EQ(profile().waits.remote_chain, 0);
  EXPECT_NEAR(profile().waits.shared_chain, steps, 2);
}

TEST_F(ClustersCounts, EveryBlockIsAtEveryBarrier) {
  meet_in(4, 10);
  EXPECT_EQ(profile().counts.cluster_barriers, 4.0 * (10 + 1));
}

TEST_F(ClustersCounts, ReadsMoveWholeSectorsFromTheNextBlock) {
  for (const unsigned cluster : {2u, 8u}) {
    read_in(cluster, 2);
    EXPECT_EQ(remote(model::Access::load).bytes, 2 * cluster * bytes_read_a_block);
    EXPECT_EQ(remote(model::Access::load).sectors * 32, 2 * cluster * bytes_read_a_block);
    EXPECT_EQ(profile().cluster, cluster);
  }
  read_in(1, 2);
  EXPECT_EQ(remote(model::Access::load).requests, 0);
}

// One read of L2, whoever it is for; shared memory takes all that lands, in each block.
TEST_F(ClustersCounts, AMulticastIsReadOnceAndLandsInEachBlock) {
  constexpr unsigned of_grid = 1;
  for (const unsigned cluster : {2u, 8u}) {
    SCOPED_TRACE(cluster);
    const double landed = bytes_brought_a_block * cluster * of_grid;
    for (const bool multicast : {true, false}) {
      multicast ? bring_in<true>(cluster, of_grid, 5) : bring_in<false>(cluster, of_grid, 5);
      const model::Counts& counts = profile().counts;
      EXPECT_EQ(counts.bulk_loads.bytes, multicast ? landed / cluster : landed);
      EXPECT_EQ(counts.bulk_loads.sectors * 32, counts.bulk_loads.bytes);
      EXPECT_EQ(counts.bulk_stores * 128, landed);
      EXPECT_EQ(counts.copied_wavefronts * 128, landed);
      EXPECT_EQ(remote(model::Access::store).requests, 0);
    }
  }
}

TEST_F(ClustersCounts, ASumFetchesOneWordFromEachOtherBlock) {
  constexpr unsigned cluster = 8, of_grid = 3;
  sum_in(cluster, of_grid, 100 * vectors_a_round);
  const model::Counts& counts = profile().counts;
  EXPECT_EQ(remote(model::Access::load).lanes, of_grid * (cluster - 1));
  EXPECT_EQ(counts.at(model::Space::global, model::Access::store).lanes, of_grid);
  EXPECT_EQ(counts.cluster_barriers, 2.0 * of_grid * cluster * sum_threads / warp);
}

}  // namespace
}  // namespace gpubench
