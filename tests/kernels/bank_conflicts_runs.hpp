#pragma once

#include <cstdint>

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

  template <class Narrow>
  void read_narrow_in(unsigned stride) {
    using namespace bank_conflicts;
    SCOPED_TRACE(testing::Message() << sizeof(Narrow) << " bytes, stride " << stride);
    const auto in = input<unsigned>(narrow_bytes / sizeof(unsigned));
    const auto out = output<unsigned>(threads);
    launch(read_narrow<Narrow>, 1, threads, 0, nullptr, reinterpret_cast<const Narrow*>(in.data()),
           out.data(), stride);
    expect_elements(out,
                    ExpectedNarrow<Generator<unsigned>>{values<unsigned>, sizeof(Narrow), stride});
  }
  // Calls visit(Narrow{}, stride) where lanes are within a word or whole words apart.
  template <class Visit>
  static void for_every_narrow_stride(Visit visit) {
    for (const unsigned bytes : {1, 2, 4, 8, 12, 16, 32, 64, 124, 128, 132}) {
      visit(std::uint8_t{}, bytes);
      if (bytes > 1) visit(std::uint16_t{}, bytes / 2);
    }
  }

  template <class Vector>
  void write_at(unsigned stride) {
    using namespace bank_conflicts;
    SCOPED_TRACE(testing::Message() << sizeof(Vector) << " bytes, stride " << stride);
    const auto out = output<float>(3 * writers);
    launch(write<Vector>, 3, writers, 0, nullptr, out.data(), stride);
    expect_elements(out, ExpectedLast{sizeof(Vector) / sizeof(float)});
  }

  void add_at(unsigned stride) {
    using namespace bank_conflicts;
    SCOPED_TRACE(stride);
    const auto out = output<unsigned>(2 * threads);
    launch(add, 2, threads, 0, nullptr, out.data(), stride);
    expect_elements(out, ExpectedTotals{stride});
  }

  template <class Rows>
  void matrices_in() {
    using namespace bank_conflicts;
    const auto in = input<unsigned>(matrix_rows * banks);
    const auto out = output<unsigned>(2 * threads);
    launch(read_matrices<Rows>, 2, threads, 0, nullptr, reinterpret_cast<const uint4*>(in.data()),
           out.data());
    expect_elements(out, ExpectedMatrices<Generator<unsigned>>{values<unsigned>});
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
