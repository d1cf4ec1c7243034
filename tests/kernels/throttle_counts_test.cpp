#include "tests/kernels/throttle_runs.hpp"

namespace gpubench {
namespace {

class ThrottleCounts : public ThrottleRuns {};

TEST_F(ThrottleCounts, FlopsAreTheTensorCores) {
  for (const unsigned blocks : {1u, 2u}) {
    multiply_in(blocks);
    const double warps = blocks * (throttle::threads / throttle::warp_lanes);
    const auto& flops = counts().tensor_flops;
    EXPECT_EQ(flops[static_cast<std::size_t>(model::Tensor::bf16)], warps * throttle::flops_a_warp);
  }
}

}  // namespace
}  // namespace gpubench
