#include <algorithm>
#include <memory>
#include <string>

#include "harness/platform/model/time/population.hpp"
#include "tests/kernels/memory_hierarchy_runs.hpp"

namespace gpubench {
namespace {

using namespace memory_hierarchy;

class MemoryHierarchyCounts : public MemoryHierarchyRuns {
 protected:
  const model::KernelProfile& profile() const { return emulator.runs().back().profile; }
};

TEST_F(MemoryHierarchyCounts, LargerSetsAreFetchedMoreOften) {
  // From a sample of the blocks, as rows are; in equal steps it would meet the same few of 206
  // pieces.
  model::Emulator sampling(device, memory, {.threads = 2});
  model::install_runtime(std::make_unique<model::Runtime>(device, memory, sampling));
  constexpr double all = 32768.0 * bytes_a_block;
  double last = 0;
  for (const std::size_t pieces : {64u, 112u, 128u, 150u, 192u, 206u, 230u, 256u, 320u, 512u}) {
    const DeviceBuffer<uint4> in(pieces * bytes_a_block / sizeof(uint4));
    const DeviceBuffer<unsigned> sums(32768);
    sampling.forget_runs();
    launch(memory_hierarchy::read, 32768, read_threads, 0, nullptr, in.data(), in.size(),
           sums.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const double fetched = sampling.runs().back().prediction.traffic.dram_read_bytes / all;
    EXPECT_GT(fetched, last - 0.02) << pieces;
    // Half of L2 has 120 pieces: swept_hits() says what stays of more.
    const double stays = model::swept_hits(static_cast<double>(pieces) / 120);
    EXPECT_NEAR(fetched, model::l2_shares(stays, 2).missed, 0.1) << pieces;
    last = fetched;
  }
}

TEST_F(MemoryHierarchyCounts, AChaseWaitsForEveryLoad) {
  constexpr unsigned taken = 256;
  chase_through(1000, taken);
  EXPECT_NEAR(profile().waits.load_chain, taken, 4);
  // Reads that do not wait for one another are no chase.
  strided_by(1);
  EXPECT_EQ(profile().waits.load_chain, 0);
  chase_in_shared_memory(160);
  EXPECT_NEAR(profile().waits.shared_chain, 160, 2);
}

TEST_F(MemoryHierarchyCounts, TouchReadsEveryLineOnce) {
  for (const std::size_t lines : {1u, 4095u, 4096u, 5000u}) {
    touch_all(lines);
    EXPECT_EQ(profile().footprints[0].read_distinct, lines);
  }
}

TEST_F(MemoryHierarchyCounts, StridedLoadsTakeThePassesOfTheLaw) {
  for (unsigned stride = 0; stride <= most_stride; ++stride) {
    strided_by(stride);
    const auto& loads = counts().at(model::Space::global, model::Access::load);
    const double counted = std::max(loads.wavefronts, loads.tag_wavefronts) / loads.requests;
    EXPECT_NEAR(counted, strided_passes(stride, 1), 1e-9) << stride;
  }
}

TEST_F(MemoryHierarchyCounts, AKernelThatAsksForTheClockIsToldThatThereIsNone) {
  const DeviceBuffer<std::uint64_t> words(16 * lines_timed);
  const DeviceBuffer<float> cycles(lines_timed);
  launch(line_latencies, 1, 1, 0, nullptr, reinterpret_cast<const Link*>(words.data()),
         cycles.data());
  EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_NE(diagnostic.find("clock"), std::string::npos) << diagnostic;
}

}  // namespace
}  // namespace gpubench
