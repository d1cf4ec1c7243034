#include "tests/kernels/registers_runs.hpp"

namespace gpubench {
namespace {

class RegistersCounts : public RegistersRuns {};

template <unsigned edge>
double loads_of_a_step(const model::Counts& counts) {
  EXPECT_EQ(counts.at(model::Space::shared, model::Access::load).wavefronts,
            counts.at(model::Space::shared, model::Access::load).requests);
  return counts.at(model::Space::shared, model::Access::load).requests /
         (registers::threads / registers::warp * registers::steps);
}

TEST_F(RegistersCounts, LoadsGrowWithTheEdgeAndMultiplyAddsWithItsSquare) {
  tiles_of<1, 1>(registers::threads);
  EXPECT_EQ(loads_of_a_step<1>(counts()), 2);
  tiles_of<4, 1>(registers::threads);
  EXPECT_EQ(loads_of_a_step<4>(counts()), registers::loads_a_step(4));
  EXPECT_EQ(counts().fma_fp32, 16.0 * registers::threads * registers::steps);
}

}  // namespace
}  // namespace gpubench
