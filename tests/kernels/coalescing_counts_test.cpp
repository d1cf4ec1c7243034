#include <algorithm>

#include "tests/kernels/coalescing_runs.hpp"

namespace gpubench {
namespace {

using namespace coalescing;
using model::Access;

class CoalescingCounts : public CoalescingRuns {
 protected:
  double sectors_a_request(Access access) {
    const auto& counted = counts().at(model::Space::global, access);
    return static_cast<double>(counted.sectors) / static_cast<double>(counted.requests);
  }
};

TEST_F(CoalescingCounts, AStrideTouchesASectorMoreForEveryEightWords) {
  for (const unsigned stride : {1u, 2u, 4u, 8u, 16u}) {
    read_by_stride(stride);
    EXPECT_EQ(sectors_a_request(Access::load), std::min(4 * stride, 32u)) << stride;
    write_by_stride(stride);
    EXPECT_EQ(sectors_a_request(Access::store), std::min(4 * stride, 32u)) << stride;
  }
}

}  // namespace
}  // namespace gpubench
