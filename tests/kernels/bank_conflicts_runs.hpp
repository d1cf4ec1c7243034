#pragma once

#include "kernels/bank_conflicts.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class BankConflictsRuns : public KernelTest {
 protected:
  template <class Vector>
  void read_in(bank_conflicts::Pattern pattern) {
    using namespace bank_conflicts;
    SCOPED_TRACE(testing::Message() << sizeof(Vector) << " bytes, stride " << pattern.stride
                                    << ", shared by " << pattern.sharing);
    constexpr unsigned words = sizeof(Vector) / sizeof(float);
    const auto in = input<float>(tile_elements * words);
    const auto out = output<float>(threads);
    launch(read<Vector>, 1, threads, 0, nullptr, reinterpret_cast<const Vector*>(in.data()),
           out.data(), pattern);
    expect_elements(out, ExpectedRead<Generator<float>>{values<float>, words, pattern});
  }
  // Calls visit(Vector{}, pattern) for each pattern to be read in.
  template <class Visit>
  static void for_every_pattern(Visit visit) {
    using bank_conflicts::Pattern;
    for (unsigned stride = 0; stride <= 33; ++stride) {
      visit(float{}, Pattern{stride, 1});
      visit(float2{}, Pattern{stride, 1});
      visit(float4{}, Pattern{stride, 1});
    }
    for (unsigned sharing = 1; sharing <= bank_conflicts::warp; sharing *= 2) {
      for (const unsigned stride : {0, 1, 2, 5, 16, 32}) visit(float{}, Pattern{stride, sharing});
    }
  }

  template <class Layout, bool turned>
  void transpose_of(unsigned rows, unsigned columns) {
    using namespace bank_conflicts;
    SCOPED_TRACE(testing::Message() << rows << " rows of " << columns);
    const auto in = input<float>(std::size_t{rows} * columns);
    const auto out = output<float>(std::size_t{rows} * columns);
    const dim3 grid((columns + side - 1) / side, (rows + side - 1) / side);
    launch(transpose_by_tile<Layout, turned>, grid, dim3(side, rows_at_once), 0, nullptr, in.data(),
           out.data(), rows, columns);
    expect_elements(out, expected_through_tile<turned>(values<float>, rows, columns));
  }

  template <class Order>
  void sums_of(std::size_t n) {
    using namespace bank_conflicts;
    SCOPED_TRACE(n);
    const auto in = input<float>(n);
    const auto out = output<float>((n + threads - 1) / threads);
    const auto blocks = (out.size() + sums_a_block - 1) / sums_a_block;
    launch(reduce<Order>, static_cast<unsigned>(blocks), threads, 0, nullptr, in.data(), out.data(),
           n);
    expect_elements(out, ExpectedSum<Generator<float>>{values<float>, n});
  }
};

}  // namespace gpubench
