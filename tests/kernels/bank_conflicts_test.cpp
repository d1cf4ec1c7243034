#include "tests/kernels/bank_conflicts_runs.hpp"

namespace gpubench {
namespace {

using namespace bank_conflicts;

class BankConflicts : public BankConflictsRuns {};

TEST_F(BankConflicts, EveryPatternReadsWhatItShould) {
  for_every_pattern([this](auto vector, Pattern pattern) { read_in<decltype(vector)>(pattern); });
}

TEST_F(BankConflicts, NarrowElementsAreReadAsTheyAre) {
  for_every_narrow_stride(
      [this](auto element, unsigned stride) { read_narrow_in<decltype(element)>(stride); });
}

TEST_F(BankConflicts, EachLaneStoresAtItsOwnPlace) {
  for (unsigned stride = 1; stride <= 33; ++stride) {
    write_at<float>(stride);
    write_at<float2>(stride);
    write_at<float4>(stride);
  }
}

TEST_F(BankConflicts, NoAdditionIsLost) {
  for (const unsigned stride : {0, 1, 2, 5, 16, 32, 33}) add_at(stride);
}

TEST_F(BankConflicts, MatricesComeFromTheirRowsInEveryLayout) {
  matrices_in<PlainRows>();
  matrices_in<PaddedRows>();
  matrices_in<SwizzledRows>();
}

TEST_F(BankConflicts, TransposesOfAnyShape) {
  for (const unsigned rows : ragged_sizes) {
    for (const unsigned columns : {1u, 33u, 127u, 128u, 509u}) {
      transpose_of<Plain, false>(rows, columns);
      transpose_of<Plain, true>(rows, columns);
      transpose_of<Padded, true>(rows, columns);
      transpose_of<Swizzled, true>(rows, columns);
    }
  }
}

TEST_F(BankConflicts, SumsOfAnyNumberOfWords) {
  for (const unsigned n : ragged_sizes) {
    sums_of<Interleaved>(n);
    sums_of<Sequential>(n);
  }
}

TEST_F(BankConflicts, NothingToDoIsNoLaunch) {
  const auto out = output<float>(0);
  EXPECT_THROW(launch(reduce<Sequential>, 0, threads, 0, nullptr, out.data(), out.data(), 0),
               CudaError);
}

}  // namespace
}  // namespace gpubench
