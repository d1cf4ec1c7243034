#include "kernels/memory_hierarchy.cuh"

#include <set>

#include "harness/model/cache_model.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace memory_hierarchy;

class MemoryHierarchyKernels : public KernelTest {};

TEST_F(MemoryHierarchyKernels, ReadsOfAnyWorkingSet) {
  constexpr std::size_t piece = bytes_a_block / sizeof(uint4);  // vectors
  for (const std::size_t vectors :
       {std::size_t{64}, std::size_t{1024}, piece / 2, piece, 3 * piece}) {
    SCOPED_TRACE(vectors);
    const auto in = input<unsigned>(4 * vectors);
    const auto sums = output<unsigned>(4);
    launch(memory_hierarchy::read, 4, read_threads, 0, nullptr,
           reinterpret_cast<const uint4*>(in.data()), vectors, sums.data());
    expect_elements(sums, ExpectedSum<Generator<unsigned>>{values<unsigned>, vectors});
  }
}

TEST_F(MemoryHierarchyKernels, BlocksTogetherReadAllOfTheWorkingSet) {
  constexpr std::size_t vectors = 2 * bytes_a_block / sizeof(uint4);
  std::set<std::size_t> seen;
  for (std::size_t block = 0; block < 2; ++block) {
    for (unsigned k = 0; k < loads_a_thread; ++k) {
      for (unsigned t = 0; t < read_threads; ++t) {
        seen.insert(vector_read(block, k, t, vectors));
      }
    }
  }
  EXPECT_EQ(seen.size(), vectors);
}

TEST_F(MemoryHierarchyKernels, LargerSetsAreFetchedMoreOften) {
  // Of a sample of the blocks, as rows are; in equal steps it would meet the same few of 206
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

TEST_F(MemoryHierarchyKernels, TheRingVisitsEveryLineOnce) {
  for (const std::size_t lines : {8u, 9u, 31u, 1024u, 1000u, 4099u, 65536u}) {
    const std::size_t step = ring_step(lines);
    std::set<std::size_t> seen;
    for (std::size_t at = 0, i = 0; i < lines; ++i, at = (at + step) % lines) seen.insert(at);
    EXPECT_EQ(seen.size(), lines);
  }
}

TEST_F(MemoryHierarchyKernels, AChaseWaitsForEveryLoad) {
  constexpr std::size_t lines = 1000;
  constexpr unsigned taken = 256;
  const DeviceBuffer<std::uint64_t> words(lines * line / sizeof(std::uint64_t));
  const Ring ring{reinterpret_cast<std::uint64_t>(words.data()), lines, ring_step(lines)};
  fill_random(words.data(), words.size(), ring);
  const auto* first = reinterpret_cast<const Link*>(words.data());
  const auto end = output<std::uint64_t>(1);
  launch(chase, 1, 1, 0, nullptr, first, taken, reinterpret_cast<const Link**>(end.data()));
  expect_elements(end, Always{reinterpret_cast<std::uint64_t>(first + taken * ring.step % lines)});
  EXPECT_NEAR(emulator.runs().back().profile.waits.load_chain, taken, 4);
  // Reads that do not wait for one another are no chase.
  const auto in = input<unsigned>(strided_words);
  const auto sums = output<unsigned>(1);
  launch(strided, 1, strided_threads, 0, nullptr, in.data(), 1u, 0u, sums.data());
  expect_elements(sums, ExpectedStrided<Generator<unsigned>>{values<unsigned>, 1});
  EXPECT_EQ(emulator.runs().back().profile.waits.load_chain, 0);
}

TEST_F(MemoryHierarchyKernels, TouchReadsEveryLineOnce) {
  for (const std::size_t lines : {1u, 4095u, 4096u, 5000u}) {
    const DeviceBuffer<std::uint64_t> words(lines * line / sizeof(std::uint64_t));
    fill_random(words.data(), words.size(),
                Ring{reinterpret_cast<std::uint64_t>(words.data()), lines, 1});
    const DeviceBuffer<std::uint64_t> never(1);
    const auto blocks = static_cast<unsigned>((lines + lines_a_block - 1) / lines_a_block);
    launch(touch, blocks, touch_threads, 0, nullptr, reinterpret_cast<const Link*>(words.data()),
           lines, never.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    EXPECT_EQ(emulator.runs().back().profile.footprints[0].read_distinct, lines);
  }
}

TEST_F(MemoryHierarchyKernels, StridedLoadsTakeThePassesOfTheLaw) {
  for (unsigned stride = 0; stride <= most_stride; ++stride) {
    const auto in = input<unsigned>(strided_words);
    const auto sums = output<unsigned>(1);
    launch(strided, 1, strided_threads, 0, nullptr, in.data(), stride, 0u, sums.data());
    expect_elements(sums, ExpectedStrided<Generator<unsigned>>{values<unsigned>, stride});
    const auto& loads = counts().at(model::Space::global, model::Access::load);
    const double counted = std::max(loads.wavefronts, loads.tag_wavefronts) / loads.requests;
    EXPECT_NEAR(counted, strided_passes(stride, 1), 1e-9) << stride;
  }
}

TEST_F(MemoryHierarchyKernels, SharedMemory) {
  const auto in = input<unsigned>(4 * shared_vectors);
  const auto sums = output<unsigned>(2);
  launch(shared_read, 2, shared_threads, 0, nullptr, reinterpret_cast<const uint4*>(in.data()),
         sums.data());
  expect_elements(sums, ExpectedShared<Generator<unsigned>>{values<unsigned>});
  const auto end = output<unsigned>(1);
  launch(shared_chase, 1, warp, 0, nullptr, 160u, end.data());
  expect_elements(end, Always{160u * shared_step % (4 * shared_words)});
  EXPECT_NEAR(emulator.runs().back().profile.waits.shared_chain, 160, 2);
}

TEST_F(MemoryHierarchyKernels, AKernelThatAsksForTheClockIsToldThatThereIsNone) {
  const DeviceBuffer<std::uint64_t> words(16 * lines_timed);
  const DeviceBuffer<float> cycles(lines_timed);
  launch(line_latencies, 1, 1, 0, nullptr, reinterpret_cast<const Link*>(words.data()),
         cycles.data());
  EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_NE(diagnostic.find("clock"), std::string::npos) << diagnostic;
}

TEST(NearAndFarGroups, OfLatencies) {
  std::vector<float> cycles;
  for (int i = 0; i < 300; ++i) cycles.push_back(static_cast<float>(270 + i % 21));
  const NearAndFar one = near_and_far(cycles);
  EXPECT_EQ(one.far_share, 0);
  EXPECT_DOUBLE_EQ(one.near, one.far);
  for (int i = 0; i < 100; ++i) cycles.push_back(static_cast<float>(480 + i % 21));
  const NearAndFar two = near_and_far(cycles);
  EXPECT_NEAR(two.near, 280, 1);
  EXPECT_NEAR(two.far, 490, 1);
  EXPECT_DOUBLE_EQ(two.far_share, 0.25);
}

}  // namespace
}  // namespace gpubench
