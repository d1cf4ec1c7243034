#include "kernels/throttle.cuh"

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

class ThrottleKernels : public KernelTest {};

TEST_F(ThrottleKernels, ProductsAreExact) {
  for (const unsigned blocks : {1u, 2u}) {
    const auto out = output<float>(blocks * throttle::threads);
    launch(throttle::multiply, blocks, throttle::threads, 0, nullptr, out.data());
    expect_elements(out, throttle::ExpectedProducts{});
    const double warps = blocks * (throttle::threads / throttle::warp_lanes);
    const auto& flops = counts().tensor_flops;
    EXPECT_EQ(flops[static_cast<std::size_t>(model::Tensor::bf16)], warps * throttle::flops_a_warp);
  }
}

TEST_F(ThrottleKernels, ThreadsComputeDifferentThings) {
  const throttle::ExpectedProducts expected{};
  std::size_t equal = 0;
  for (std::size_t i = 1; i < 256; ++i) equal += expected(i) == expected(i - 1);
  EXPECT_LT(equal, 16U);
}

}  // namespace
}  // namespace gpubench
