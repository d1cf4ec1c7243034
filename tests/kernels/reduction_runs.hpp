#pragma once

#include "kernels/reduction.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class ReductionRuns : public KernelTest {
 protected:
  // One launch: a sum for each run of `words_a_block` words.
  template <class Kernel>
  void side_by_side(Kernel kernel, unsigned words_a_block, std::size_t n) {
    using namespace reduction;
    SCOPED_TRACE(n);
    const auto in = input<float>(n);
    const auto sums = output<float>((n + words_a_block - 1) / words_a_block);
    launch(kernel, static_cast<unsigned>(sums.size()), threads, 0, nullptr, in.data(), sums.data(),
           n);
    expect_elements(sums, ExpectedSideBySide<Generator<float>>{values<float>, n, words_a_block});
  }
};

}  // namespace gpubench
