// Thread block clusters on the emulator.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "tests/model/bf16_products.hpp"
#include "tests/model/cluster_kernels.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/multicast_kernels.hpp"

namespace gpubench::model {
namespace {

class ClusterTest : public EmulatorTest {
 protected:
  static constexpr unsigned threads = 64, warps = 2;
};

TEST_F(ClusterTest, ABlockKnowsItsRankAndHowManyThereAre) {
  for (const unsigned cluster : {1u, 2u, 3u, 16u}) {
    const unsigned blocks = 48;
    auto* out = make<unsigned>(2 * blocks);
    kernels::rank_blocks(cluster, blocks, out);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    const auto seen = download(out, 2 * blocks);
    for (unsigned b = 0; b < blocks; ++b) {
      EXPECT_EQ(seen[2 * b], b % cluster);
      EXPECT_EQ(seen[2 * b + 1], cluster);
    }
  }
}

TEST_F(ClusterTest, BlocksReadOneAnothersSharedMemory) {
  for (const unsigned cluster : {2u, 4u, 16u}) {
    const unsigned blocks = 2 * cluster;
    auto* out = make<unsigned>(blocks * threads);
    const Counts counts = counts_of([&] { kernels::ask_next_block(cluster, blocks, out); });
    const auto seen = download(out, blocks * threads);
    for (unsigned b = 0; b < blocks; ++b) {
      const unsigned next = b / cluster * cluster + (b + 1) % cluster;
      for (unsigned t = 0; t < threads; ++t) EXPECT_EQ(seen[b * threads + t], next * threads + t);
    }
    const AccessCounts& remote = counts.at(Space::remote, Access::load);
    expect_access(remote, blocks * warps, blocks * threads, blocks * threads * 4.0);
    EXPECT_EQ(remote.sectors, blocks * threads * 4.0 / 32);
    EXPECT_EQ(counts.at(Space::shared, Access::load).requests, 0);
    EXPECT_EQ(counts.at(Space::shared, Access::store).requests, blocks * warps);
    EXPECT_EQ(counts.at(Space::global, Access::load).requests, 0);
    EXPECT_EQ(counts.cluster_barriers, 2.0 * blocks * warps);
    EXPECT_EQ(counts.barriers, counts.cluster_barriers);
  }
}

TEST_F(ClusterTest, ABlockByItselfIsAClusterOfOne) {
  auto* out = make<unsigned>(3 * threads);
  const Counts counts = counts_of([&] { kernels::ask_next_block(1, 3, out); });
  const auto seen = download(out, 3 * threads);
  for (unsigned i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i);
  EXPECT_EQ(counts.at(Space::remote, Access::load).requests, 0);
  EXPECT_EQ(counts.at(Space::shared, Access::load).requests, 3.0 * warps);
  EXPECT_EQ(counts.cluster_barriers, 6.0 * warps);
}

TEST_F(ClusterTest, BlocksStoreAndAddToOneAnothersSharedMemory) {
  const unsigned cluster = 4, clusters = 3;
  auto* out = make<unsigned>(2 * clusters);
  const Counts counts =
      counts_of([&] { kernels::give_to_blocks(cluster, clusters * cluster, out); });
  const auto seen = download(out, 2 * clusters);
  constexpr unsigned all = cluster * threads;
  for (unsigned c = 0; c < clusters; ++c) {
    EXPECT_EQ(seen[2 * c], all);
    EXPECT_EQ(seen[2 * c + 1], all * (all - 1) / 2);
  }
  const double others = clusters * (cluster - 1.0);
  EXPECT_EQ(counts.at(Space::remote, Access::atomic).requests, others * warps);
  EXPECT_EQ(counts.at(Space::remote, Access::store).requests, others * warps);
}

TEST_F(ClusterTest, AChaseThroughAnotherBlocksMemoryWaitsForEveryLoad) {
  auto* out = make<unsigned>(1);
  counts_of([&] { kernels::chase_next_block(512, out); });
  EXPECT_EQ(download(out, 1)[0], 512 * 4 * 97 % 1024);
  const auto& run = emulator.runs().back();
  EXPECT_NEAR(run.profile.waits.remote_chain / 2, 512, 2);  // of both blocks: they last as long
  EXPECT_EQ(run.profile.waits.shared_chain, 0);
  EXPECT_EQ(run.profile.cluster, 2);
}

TEST_F(ClusterTest, BlocksThatHaveEndedAreNotWaitedFor) {
  auto* out = upload(std::vector<unsigned>(8, 0));
  counts_of([&] { kernels::leave_one_by_one(8, out); });
  EXPECT_EQ(download(out, 8), std::vector<unsigned>(8, 1));
}

TEST_F(ClusterTest, EveryMistakeIsNamedAndItsTwinIsClean) {
  for (const kernels::ClusterMistake& mistake : kernels::cluster_mistakes()) {
    SCOPED_TRACE(mistake.name);
    unsigned* out = upload(std::vector<unsigned>(1024, 0));
    counts_of([&] { mistake.launch(out, true); });
    const std::string fault = fault_of([&] { mistake.launch(out, false); });
    EXPECT_EQ(fault.find('\n'), std::string::npos) << fault;
    EXPECT_NE(fault.find(mistake.says), std::string::npos) << fault;
    EXPECT_NE(fault.find("cluster_kernels.cpp:"), std::string::npos) << fault;
  }
}

TEST_F(ClusterTest, NoBlockOfASampledClusterRunsTwice) {
  // Atomic additions would show it.
  Emulator sampling(spec, memory, {.threads = 2, .most_sampled_blocks = 4});
  sampling.set_execution(Execution::whole);
  use(sampling);
  const unsigned cluster = 4, clusters = 64;
  auto* out = make<unsigned>(2 * clusters);
  kernels::give_to_blocks(cluster, clusters * cluster, out);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const auto seen = download(out, 2 * clusters);
  for (unsigned c = 0; c < clusters; ++c) EXPECT_EQ(seen[2 * c], cluster * threads) << c;
  const KernelProfile& profile = sampling.runs().back().profile;
  EXPECT_EQ(profile.blocks, cluster * clusters);
  EXPECT_LT(profile.traced_blocks, profile.blocks);
  EXPECT_EQ(static_cast<unsigned>(profile.traced_blocks) % cluster, 0);
}

TEST_F(ClusterTest, ALaunchTakesOnlyClustersThatTheDeviceHas) {
  auto* out = make<unsigned>(64);
  EXPECT_EQ(kernels::launch_in_clusters(8, 1, 32, false, out), cudaSuccess);
  EXPECT_EQ(kernels::launch_in_clusters(16, 1, 32, false, out), cudaErrorInvalidClusterSize);
  EXPECT_EQ(kernels::launch_in_clusters(16, 1, 32, true, out), cudaSuccess);
  EXPECT_EQ(kernels::launch_in_clusters(32, 1, 32, true, out), cudaErrorInvalidClusterSize);
  EXPECT_EQ(kernels::launch_in_clusters(8, 1, 12, true, out), cudaErrorInvalidClusterSize);
  EXPECT_EQ(kernels::launch_in_clusters(0, 1, 12, true, out), cudaErrorInvalidClusterSize);
  EXPECT_EQ(kernels::launch_in_clusters(2, 2, 32, true, out), cudaErrorNotSupported);
  const DeviceSpec older = device_spec("a100-80-sxm");
  Emulator on_older(older, memory, {.threads = 1});
  install_runtime(std::make_unique<Runtime>(older, memory, on_older, RuntimeOptions{}));
  EXPECT_EQ(kernels::launch_in_clusters(2, 1, 32, false, out), cudaErrorNotSupported);
  EXPECT_EQ(kernels::launch_in_clusters(1, 1, 32, false, out), cudaSuccess);
}

// --- bulk copies to several blocks ---

class MulticastTest : public EmulatorTest {
 protected:
  static constexpr unsigned words = 64;
  std::vector<unsigned> numbers(std::size_t count) {
    std::vector<unsigned> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<unsigned>(1000 + i);
    return all;
  }
};

TEST_F(MulticastTest, ACopyLandsInTheBlocksOfItsMaskAndNowhereElse) {
  for (const unsigned cluster : {1u, 2u, 4u, 16u}) {
    const unsigned blocks = 2 * cluster;
    const auto* in = upload(numbers(std::size_t{blocks} * words));
    auto* out = make<unsigned>(blocks * words);
    for (const unsigned ranks : {1u, (1u << cluster) - 1, 1u << (cluster - 1)}) {
      for (const unsigned from : {0u, cluster - 1}) {
        const Counts counts =
            counts_of([&] { kernels::hand_out(cluster, blocks, from, ranks, in, out); });
        const auto got = download(out, blocks * words);
        for (unsigned i = 0; i < blocks * words; ++i) {
          const unsigned block = i / words, rank = block % cluster;
          const unsigned want = 1000 + (block - rank + from) * words + i % words;
          ASSERT_EQ(got[i], (ranks >> rank & 1) != 0 ? want : 0) << block << ' ' << ranks;
        }
        // Two clusters; a copy is two lines.
        const double lands = __builtin_popcount(ranks);
        EXPECT_EQ(counts.bulk_loads.requests, 2 * 2);
        EXPECT_EQ(counts.bulk_stores, 2 * 2 * lands);
        EXPECT_EQ(counts.copied_wavefronts, 2 * 2 * lands);
      }
    }
  }
}

TEST_F(MulticastTest, ABoxLandsSwizzledInEachBlock) {
  constexpr unsigned columns = 128, row = 60, column = 64;  // four rows lie beyond the matrix
  RandomBf16s random;
  const Bf16s matrix = random(64 * columns);
  const auto* from = upload(matrix);
  auto* to = make<unsigned char>(2 * kernels::handed_box_bytes);
  const Counts counts = counts_of([&] { kernels::hand_out_box(to, from, columns, row, column); });
  const auto got = download(to, 2 * kernels::handed_box_bytes);
  for (unsigned block = 0; block < 2; ++block) {
    for (unsigned r = 0; r < 8; ++r) {
      for (unsigned c = 0; c < 64; ++c) {
        const float want = row + r < 64 ? float{matrix[(row + r) * columns + column + c]} : 0.0f;
        __nv_bfloat16 is;
        std::memcpy(
            &is, &got[block * kernels::handed_box_bytes + r * 128 + (c / 8 ^ r) * 16 + c % 8 * 2],
            sizeof is);
        ASSERT_EQ(float{is}, want) << block << ": " << r << ' ' << c;
      }
    }
  }
  EXPECT_EQ(counts.bulk_loads.requests, 4);
  EXPECT_EQ(counts.bulk_stores, 2 * 8);
}

TEST_F(MulticastTest, EveryMistakeIsNamedAndItsTwinIsClean) {
  const auto* in = upload(numbers(words));
  for (const kernels::MulticastMistake& mistake : kernels::multicast_mistakes()) {
    SCOPED_TRACE(mistake.name);
    auto* out = make<unsigned>(2 * words);
    counts_of([&] { mistake.launch(in, out, true); });
    const std::string fault = fault_of([&] { mistake.launch(in, out, false); });
    EXPECT_EQ(fault.find('\n'), std::string::npos) << fault;
    EXPECT_NE(fault.find(mistake.says), std::string::npos) << fault;
    EXPECT_NE(fault.find("multicast_kernels.cpp:"), std::string::npos) << fault;
  }
}

}  // namespace
}  // namespace gpubench::model
