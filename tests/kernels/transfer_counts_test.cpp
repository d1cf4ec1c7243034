#include "tests/kernels/transfer_runs.hpp"

namespace gpubench {
namespace {

class TransferCounts : public TransferRuns {};

TEST_F(TransferCounts, ACopyLoadsEveryWordOnce) {
  for (const unsigned n : ragged_sizes) {
    copy_of(n);
    EXPECT_EQ(counts().at(model::Space::global, model::Access::load).lanes, n);
  }
}

}  // namespace
}  // namespace gpubench
