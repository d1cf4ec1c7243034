#include "tests/kernels/reduction_runs.hpp"

namespace gpubench {
namespace {

using namespace reduction;

class ReductionCounts : public ReductionRuns {
 protected:
  template <class Order, bool unrolled, unsigned loads>
  void expect_loads(std::size_t blocks) {
    side_by_side(tree<Order, loads, unrolled>, loads * threads, blocks * loads * threads);
    const auto& counted = counts().at(model::Space::shared, model::Access::load);
    constexpr Loads expected = loads_of_tree<Order, unrolled>();
    EXPECT_EQ(counted.requests, blocks * expected.requests);
    EXPECT_EQ(counted.wavefronts, blocks * expected.wavefronts);
  }
};

TEST_F(ReductionCounts, LoadsAndConflictsAreTheLaws) {
  expect_loads<Divergent, false, 1>(3);
  expect_loads<Conflicting, false, 1>(3);
  expect_loads<Sequential, false, 1>(3);
  expect_loads<Sequential, false, 2>(3);
  expect_loads<Sequential, true, 2>(3);
}

}  // namespace
}  // namespace gpubench
