#pragma once

#include "kernels/registers.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class RegistersRuns : public KernelTest {
 protected:
  template <unsigned edge, unsigned blocks>
  void tiles_of(std::size_t n) {
    SCOPED_TRACE(testing::Message() << n << " tiles of " << edge);
    const auto out = output<float>(n);
    const auto grid = static_cast<unsigned>((n + registers::threads - 1) / registers::threads);
    launch(registers::tile<edge, blocks>, grid, registers::threads, 0, nullptr, out.data(), n);
    expect_elements(out, registers::ExpectedTile{edge});
  }
};

}  // namespace gpubench
