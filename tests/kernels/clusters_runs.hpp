#pragma once

#include "kernels/clusters.cuh"
#include "kernels/clusters/multicast.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

struct AlwaysTheSame {
  unsigned value;
  __host__ __device__ unsigned operator()(std::size_t) const { return value; }
};

class ClustersRuns : public KernelTest {
 protected:
  // What every device with clusters takes.
  static constexpr unsigned sizes[] = {1, 2, 3, 8};

  void chase_in(unsigned cluster, unsigned steps) {
    using namespace clusters;
    SCOPED_TRACE(testing::Message() << steps << " links, cluster of " << cluster);
    const auto end = output<unsigned>(1);
    launch_cluster(cluster > 1 ? chase<true> : chase<false>, cluster, cluster, chase_threads,
                   ring_bytes, nullptr, steps, end.data());
    expect_elements(end, AlwaysTheSame{end_of_chase(steps, cluster)});
  }
  void meet_in(unsigned cluster, unsigned rounds) {
    using namespace clusters;
    SCOPED_TRACE(testing::Message() << rounds << " rounds, cluster of " << cluster);
    const auto ends = output<unsigned>(cluster);
    launch_cluster(barrier, cluster, cluster, barrier_threads, sizeof(unsigned), nullptr, rounds,
                   ends.data());
    expect_elements(ends, ExpectedBarrier{rounds, cluster});
  }
  void read_in(unsigned cluster, unsigned clusters_of_grid) {
    using namespace clusters;
    SCOPED_TRACE(cluster);
    const auto in = input<unsigned>(std::size_t{4} * read_vectors * cluster);
    const auto sums = output<unsigned>(cluster * clusters_of_grid);
    launch_cluster(clusters::read, cluster, cluster * clusters_of_grid, read_threads,
                   read_shared_bytes, nullptr, reinterpret_cast<const uint4*>(in.data()),
                   sums.data());
    expect_elements(sums, ExpectedRead<Generator<unsigned>>{values<unsigned>, cluster});
  }
  template <bool multicast>
  void bring_in(unsigned cluster, unsigned clusters_of_grid, unsigned tiles) {
    using namespace clusters;
    SCOPED_TRACE(testing::Message() << tiles << " tiles, clusters of " << cluster);
    const auto in = input<unsigned>(std::size_t{tiles} * tile_bytes / sizeof(unsigned));
    const auto sums = output<unsigned>(cluster * clusters_of_grid);
    launch_cluster(bring<multicast>, cluster, cluster * clusters_of_grid, tile_threads,
                   tile_shared_bytes, nullptr, reinterpret_cast<const uint4*>(in.data()), tiles,
                   sums.data());
    expect_elements(sums, ExpectedTiles<Generator<unsigned>>{values<unsigned>, tiles, cluster});
  }
  void sum_in(unsigned cluster, unsigned clusters_of_grid, std::size_t vectors) {
    using namespace clusters;
    SCOPED_TRACE(testing::Message() << vectors << " vectors, clusters of " << cluster);
    const auto in = input<float>(4 * vectors);
    const auto sums = output<float>(clusters_of_grid);
    launch_cluster(clusters::sum, cluster, cluster * clusters_of_grid, sum_threads,
                   sum_shared_bytes, nullptr, reinterpret_cast<const float4*>(in.data()), vectors,
                   sums.data());
    expect_elements(
        sums, ExpectedSum<Generator<float>>{values<float>, vectors, cluster, clusters_of_grid},
        1e-5);
  }
};

}  // namespace gpubench
