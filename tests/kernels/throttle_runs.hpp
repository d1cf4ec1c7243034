#pragma once

#include "kernels/throttle.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class ThrottleRuns : public KernelTest {
 protected:
  void multiply_in(unsigned blocks) {
    const auto out = output<float>(blocks * throttle::threads);
    launch(throttle::multiply, blocks, throttle::threads, 0, nullptr, out.data());
    expect_elements(out, throttle::ExpectedProducts{});
  }
};

}  // namespace gpubench
