#pragma once

#include "harness/bench/gemm_row.hpp"
#include "kernels/tile_alignment.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class TileAlignmentRuns : public KernelTest {
 protected:
  static dim3 grid(unsigned m, unsigned n) {
    using tile_alignment::tile;
    return {(n + tile - 1) / tile, (m + tile - 1) / tile};
  }

  template <unsigned width>
  void expect_predicated(unsigned m, unsigned n, unsigned k) {
    using namespace tile_alignment;
    const auto a = input<element>(std::size_t{m} * k), b = input<element>(std::size_t{n} * k);
    const auto d = output<float>(std::size_t{m} * n);
    launch(multiply<width, true>, grid(m, n), threads, 0, nullptr, a.data(), b.data(), d.data(), m,
           n, k, k, k, n);
    const GemmShape shape = GemmShape::dense(GemmType::bf16, m, n, k);
    expect_elements(d, expected_product<float>(shape, values<element>, values<element>), 1e-5);
  }
};

}  // namespace gpubench
