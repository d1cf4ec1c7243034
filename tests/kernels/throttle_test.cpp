#include "tests/kernels/throttle_runs.hpp"

namespace gpubench {
namespace {

class ThrottleKernels : public ThrottleRuns {};

TEST_F(ThrottleKernels, ProductsAreExact) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  for (const unsigned blocks : {1u, 2u}) multiply_in(blocks);
}

TEST_F(ThrottleKernels, ThreadsComputeDifferentThings) {
  const throttle::ExpectedProducts expected{};
  std::size_t equal = 0;
  for (std::size_t i = 1; i < 256; ++i) equal += expected(i) == expected(i - 1);
  EXPECT_LT(equal, 16U);
}

}  // namespace
}  // namespace gpubench
