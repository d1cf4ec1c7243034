#include <set>
#include <vector>

#include "tests/kernels/memory_hierarchy_runs.hpp"

namespace gpubench {
namespace {

using namespace memory_hierarchy;

class MemoryHierarchyKernels : public MemoryHierarchyRuns {};

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

TEST_F(MemoryHierarchyKernels, TheRingVisitsEveryLineOnce) {
  for (const std::size_t lines : {8u, 9u, 31u, 1024u, 1000u, 4099u, 65536u}) {
    const std::size_t step = ring_step(lines);
    std::set<std::size_t> seen;
    for (std::size_t at = 0, i = 0; i < lines; ++i, at = (at + step) % lines) seen.insert(at);
    EXPECT_EQ(seen.size(), lines);
  }
}

TEST_F(MemoryHierarchyKernels, AChaseEndsWhereTheRingSays) {
  for (const std::size_t lines : {8u, 9u, 31u, 1000u, 4099u}) chase_through(lines, 256);
}

TEST_F(MemoryHierarchyKernels, TouchingLeavesNothingBehind) {
  for (const std::size_t lines : {1u, 4095u, 4096u, 5000u}) touch_all(lines);
}

TEST_F(MemoryHierarchyKernels, StridedLoadsOfEveryStride) {
  for (unsigned stride = 0; stride <= most_stride; ++stride) strided_by(stride);
}

TEST_F(MemoryHierarchyKernels, SharedMemory) {
  const auto in = input<unsigned>(4 * shared_vectors);
  const auto sums = output<unsigned>(2);
  launch(shared_read, 2, shared_threads, 0, nullptr, reinterpret_cast<const uint4*>(in.data()),
         sums.data());
  expect_elements(sums, ExpectedShared<Generator<unsigned>>{values<unsigned>});
  for (const unsigned taken : {16u, 160u, 1600u}) chase_in_shared_memory(taken);
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
