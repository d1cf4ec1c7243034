#pragma once

#include <vector>

#include "kernels/precision.cuh"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {

class PrecisionRuns : public KernelTest {
 protected:
  static unsigned blocks_of(std::size_t elements, unsigned of_block) {
    return static_cast<unsigned>((elements + of_block - 1) / of_block);
  }

  // What the kernel leaves of `rows` rows of k numbers in [-1, 1).
  template <class In, class Part, unsigned parts, bool reversed>
  std::vector<Part> split_rows(std::size_t rows, unsigned k) {
    using namespace precision;
    const DeviceBuffer<In> in(rows * k);
    fill_random(in.data(), in.size(), Rounded<In>{numbers(k), 1});
    const auto out = output<Part>(rows * k * parts);
    launch(split<In, Part, parts, reversed>, blocks_of(rows * k, split_threads * split_each),
           split_threads, 0, nullptr, in.data(), out.data(), k, rows * k);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    return out.download();
  }
  static precision::Values numbers(std::size_t k) { return {precision::Contents::uniform, 3, k}; }

  template <class Order>
  void sums_of(unsigned n, std::size_t columns) {
    using namespace precision;
    SCOPED_TRACE(testing::Message() << columns << " sums of " << n);
    const Addends addends{5};
    const DeviceBuffer<float> in(n * columns);
    fill_random(in.data(), in.size(), addends);
    const auto out = output<float>(columns);
    launch(sum_columns<Order>, blocks_of(columns, sum_threads), sum_threads, 0, nullptr, in.data(),
           out.data(), n, columns);
    expect_elements(out, ExpectedSum<Order>{{addends}, n, columns});
  }

  template <class To>
  void cast_of(std::size_t n, float scale) {
    using namespace precision;
    SCOPED_TRACE(testing::Message() << n << " times " << scale);
    const Gradients gradients{7};
    const DeviceBuffer<float> in(n);
    fill_random(in.data(), in.size(), gradients);
    const auto out = output<To>(n);
    launch(cast<To>, blocks_of(n, cast_threads * cast_each), cast_threads, 0, nullptr, in.data(),
           out.data(), scale, n);
    expect_elements(out, ExpectedCast<To>{gradients, scale});
  }
};

}  // namespace gpubench
