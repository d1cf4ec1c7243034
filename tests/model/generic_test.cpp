// One instruction whose lanes name different memories: each counts as what it is.
#include <gtest/gtest.h>

#include <vector>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/generic_kernels.hpp"

namespace gpubench::model {
namespace {

class GenericTest : public EmulatorTest {
 protected:
  // Lane i reads i from shared memory, 100 + i or 200 + i from global memory.
  Counts load(unsigned shared_lanes) {
    std::vector<float> in = numbers(32), other = in;
    for (float& value : in) value += 100;
    for (float& value : other) value += 200;
    const float* const from = upload(in);
    const float* const or_from = upload(other);
    float* const out = make<float>(32);
    const Counts counts =
        counts_of([&] { kernels::load_from_anywhere(out, from, or_from, shared_lanes); });
    const std::vector<float> found = download(out, 32);
    for (unsigned lane = 0; lane < 32; ++lane) {
      const auto expected = static_cast<float>(lane) + (lane < shared_lanes ? 0.0f
                                                        : lane % 2 == 0     ? 100.0f
                                                                            : 200.0f);
      EXPECT_EQ(found[lane], expected) << lane;
    }
    return counts;
  }
};

TEST_F(GenericTest, LanesOfSharedMemoryHideNoneOfGlobalMemory) {
  const Counts counts = load(1);
  expect_access(counts.at(Space::shared, Access::load), 1, 1, 4);
  const AccessCounts& global = counts.at(Space::global, Access::load);
  expect_access(global, 1, 31, 124);
  EXPECT_EQ(global.sectors, 4 + 4);
  EXPECT_EQ(global.ideal_sectors, 2 + 2);  // 60 bytes of one allocation, 64 of the other
}

TEST_F(GenericTest, LanesOfGlobalMemoryHideNoneOfSharedMemory) {
  const Counts counts = load(31);
  expect_access(counts.at(Space::shared, Access::load), 1, 31, 124);
  expect_access(counts.at(Space::global, Access::load), 1, 1, 4);
}

TEST_F(GenericTest, TwoAllocationsAreReadAsWhatTheyAre) {
  const Counts counts = load(0);
  const AccessCounts& global = counts.at(Space::global, Access::load);
  expect_access(global, 1, 32, 128);
  EXPECT_EQ(global.sectors, 4 + 4);
  EXPECT_EQ(global.ideal_sectors, 2 + 2);
  EXPECT_EQ(counts.at(Space::shared, Access::load).requests, 0);
}

TEST_F(GenericTest, AnExplanationTellsThemApart) {
  emulator.set_explaining(true);
  load(1);
  ASSERT_EQ(emulator.explanations().size(), 1u);
  std::vector<double> moved;
  for (const ExplainedAccess& access : emulator.explanations()[0].accesses) {
    if (access.kind == "load") moved.push_back(access.shared ? -access.moved : access.moved);
  }
  EXPECT_EQ(moved, (std::vector<double>{-1, 8}));  // a wavefront, and sectors
}

}  // namespace
}  // namespace gpubench::model
