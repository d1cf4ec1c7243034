#include <cstdint>

#include "tests/kernels/transpose_runs.hpp"

namespace gpubench {
namespace {

using model::Access;

class TransposeCounts : public TransposeRuns {
 protected:
  void expect_sectors_a_request(double load, double store) {
    for (const auto& [access, sectors] : {std::pair(Access::load, load), {Access::store, store}}) {
      const auto& counted = counts().at(model::Space::global, access);
      EXPECT_EQ(static_cast<double>(counted.sectors) / static_cast<double>(counted.requests),
                sectors);
    }
  }
};

TEST_F(TransposeCounts, OneSideIsScattered) {
  transpose_of<float, true>(64, 96);
  expect_sectors_a_request(32, 4);
  transpose_of<float, false>(96, 64);
  expect_sectors_a_request(4, 32);
  transpose_of<std::int16_t, true>(64, 96);
  expect_sectors_a_request(32, 2);
}

}  // namespace
}  // namespace gpubench
