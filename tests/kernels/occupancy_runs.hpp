#pragma once

#include "kernels/occupancy.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class OccupancyRuns : public KernelTest {
 protected:
  template <class... P>
  void chains_of(void (*kernel)(P...), unsigned n, unsigned block,
                 occupancy::ExpectedChains expected) {
    SCOPED_TRACE(testing::Message() << n << " elements, " << expected.ilp << " chains");
    const auto out = output<float>(n);
    launch(kernel, (n + block - 1) / block, block, 0, nullptr, out.data(), std::size_t{n});
    expect_elements(out, expected);
  }
};

}  // namespace gpubench
