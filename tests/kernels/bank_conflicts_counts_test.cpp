#include "tests/kernels/bank_conflicts_runs.hpp"

namespace gpubench {
namespace {

using namespace bank_conflicts;
using model::Space;

class BankConflictsCounts : public BankConflictsRuns {};

TEST_F(BankConflictsCounts, EveryPatternQueuesAsTheLawSays) {
  for_every_pattern([this](auto vector, Pattern pattern) {
    read_in<decltype(vector)>(pattern);
    const auto& loads = counts().at(Space::shared, model::Access::load);
    EXPECT_EQ(loads.wavefronts / loads.requests,
              wavefronts(sizeof vector, pattern.stride, warp / pattern.sharing))
        << sizeof vector << " bytes, stride " << pattern.stride << ", shared by "
        << pattern.sharing;
  });
}

TEST_F(BankConflictsCounts, OnlyThePlainTransposeQueues) {
  const auto wavefronts_a_load = [&](auto run) {
    run();
    const auto& loads = counts().at(Space::shared, model::Access::load);
    return loads.wavefronts / loads.requests;
  };
  EXPECT_EQ(wavefronts_a_load([&] { transpose_of<Plain, false>(64, 96); }), 1);
  EXPECT_EQ(wavefronts_a_load([&] { transpose_of<Plain, true>(64, 96); }), 32);
  EXPECT_EQ(wavefronts_a_load([&] { transpose_of<Padded, true>(64, 96); }), 1);
  EXPECT_EQ(wavefronts_a_load([&] { transpose_of<Swizzled, true>(64, 96); }), 1);
}

template <class Order>
void expect_cost(const model::Counts& counts) {
  const auto& loads = counts.at(Space::shared, model::Access::load);
  const auto& stores = counts.at(Space::shared, model::Access::store);
  const Cost cost = cost_of_a_sum<Order>();
  EXPECT_EQ(loads.requests, sums_a_block * cost.loads);
  EXPECT_EQ(loads.wavefronts, sums_a_block * cost.load_wavefronts);
  EXPECT_EQ(loads.wavefronts + stores.wavefronts, sums_a_block * cost.wavefronts);
}

TEST_F(BankConflictsCounts, ASumCostsWhatTheLawCounts) {
  sums_of<Interleaved>(sums_a_block * threads);
  expect_cost<Interleaved>(counts());
  sums_of<Sequential>(sums_a_block * threads);
  expect_cost<Sequential>(counts());
}

}  // namespace
}  // namespace gpubench
