#pragma once

#include "harness/gemm_row.hpp"
#include "kernels/gemm_ladder.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class GemmLadderRuns : public KernelTest {
 protected:
  // Of the rungs in fp32. `goes_down`: blocks lie along columns first.
  template <class... P>
  void expect_product(void (*kernel)(P...), const gemm_ladder::Tiles& tiles, dim3 block, unsigned m,
                      unsigned n, unsigned k, bool goes_down = false) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    const auto a = input<float>(std::size_t{m} * k), b = input<float>(std::size_t{k} * n);
    const auto d = output<float>(std::size_t{m} * n);
    const unsigned down = (m + tiles.block_m - 1) / tiles.block_m;
    const unsigned across = (n + tiles.block_n - 1) / tiles.block_n;
    const dim3 grid = goes_down ? dim3(down, across) : dim3(across, down);
    if constexpr (sizeof...(P) == 6) {
      launch(kernel, grid, block, 0, nullptr, a.data(), b.data(), d.data(), m, n, k);
    } else {
      launch(kernel, grid, block, 0, nullptr, a.data(), b.data(), d.data(), n, k);
    }
    const GemmShape shape = GemmShape::textbook(GemmType::fp32, m, n, k);
    const auto want = expected_product<float>(shape, values<float>, values<float>);
    expect_elements(d, want, 1e-5, 1e-5);
  }
};

}  // namespace gpubench
