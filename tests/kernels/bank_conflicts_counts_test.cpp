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

double wavefronts_a_request(const model::Counts& counts, model::Access kind) {
  const auto& accesses = counts.at(Space::shared, kind);
  return accesses.wavefronts / accesses.requests;
}

TEST_F(BankConflictsCounts, NarrowElementsOfAWordShareIt) {
  for_every_narrow_stride([this](auto element, unsigned stride) {
    read_narrow_in<decltype(element)>(stride);
    EXPECT_EQ(wavefronts_a_request(counts(), model::Access::load),
              narrow_wavefronts(sizeof element * stride))
        << sizeof element << " bytes, stride " << stride;
  });
}

TEST_F(BankConflictsCounts, StoresQueueAsLoadsDo) {
  for (unsigned stride = 1; stride <= 33; ++stride) {
    write_at<float>(stride);
    EXPECT_EQ(wavefronts_a_request(counts(), model::Access::store), wavefronts(4, stride));
    write_at<float2>(stride);
    EXPECT_EQ(wavefronts_a_request(counts(), model::Access::store), wavefronts(8, stride));
    write_at<float4>(stride);
    EXPECT_EQ(wavefronts_a_request(counts(), model::Access::store), wavefronts(16, stride));
  }
}

TEST_F(BankConflictsCounts, AdditionsToDifferentWordsQueueAsLoadsDo) {
  for (const unsigned stride : {1, 2, 5, 16, 32, 33}) {
    add_at(stride);
    EXPECT_EQ(wavefronts_a_request(counts(), model::Access::atomic), wavefronts(4, stride));
  }
}

TEST_F(BankConflictsCounts, TheSwizzleSpreadsTheRowsOfMatrices) {
  matrices_in<PlainRows>();
  EXPECT_EQ(wavefronts_a_request(counts(), model::Access::load), 32);
  EXPECT_EQ(matrix_wavefronts<PlainRows>(), 32);
  matrices_in<PaddedRows>();
  EXPECT_EQ(wavefronts_a_request(counts(), model::Access::load), 4);
  EXPECT_EQ(matrix_wavefronts<PaddedRows>(), 4);
  matrices_in<SwizzledRows>();
  EXPECT_EQ(wavefronts_a_request(counts(), model::Access::load), 4);
  EXPECT_EQ(matrix_wavefronts<SwizzledRows>(), 4);
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
