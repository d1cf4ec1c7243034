#include "kernels/normalization.cuh"

#include <cuda_bf16.h>

#include <algorithm>

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace normalization;

class Normalization : public KernelTest {
 protected:
  template <class T, class Norm>
  void every_way(unsigned packs, unsigned rows) {
    SCOPED_TRACE(testing::Message()
                 << rows << " rows of " << packs << " packs of " << sizeof(T) << "-byte numbers");
    const std::size_t columns = std::size_t{packs} * Pack<T>::size, n = rows * columns;
    const Rows numbers{3, columns};
    const DeviceBuffer<T> in(n);
    fill_random(in.data(), n, numbers);
    const auto known = output<float2>(rows);
    const Shape shape = shape_of(packs);
    const dim3 block(shape.lanes, shape.rows_a_block);
    const unsigned blocks = (rows + shape.rows_a_block - 1) / shape.rows_a_block;
    const Expected<Norm> expected(numbers);
    const double relative = sizeof(T) == 2 ? 0x1p-8 : 1e-5, absolute = 1e-6;
    const auto expect = [&](const char* way, auto&& queue) {
      SCOPED_TRACE(way);
      const auto out = output<T>(n);
      queue(out.data());
      expect_elements(out, expected, relative, absolute);
    };
    const auto run = [&](auto* kernel, auto... arguments) {
      launch(kernel, blocks, block, 0, nullptr, arguments..., packs, rows);
    };
    expect("kernels", [&](T* out) {
      run(look<T, Norm, 0>, in.data(), known.data());
      if constexpr (Norm::passes > 1) run(look<T, Norm, 1>, in.data(), known.data());
      run(write<T, Norm>, in.data(), known.data(), out);
    });
    expect("passes", [&](T* out) { run(again<T, Norm, false>, in.data(), out); });
    expect("online", [&](T* out) { run(again<T, Norm, true>, in.data(), out); });
    expect("registers", [&](T* out) { run(registers<T, Norm, most_packs>, in.data(), out); });
  }
  template <class T>
  void every_norm(unsigned packs, unsigned rows) {
    every_way<T, Softmax>(packs, rows);
    every_way<T, LayerNorm>(packs, rows);
    every_way<T, RmsNorm>(packs, rows);
  }
};

TEST_F(Normalization, EveryWayAgreesWithTheReferenceAtEveryShape) {
  for (const unsigned packs : {1u, 31u, 32u, 33u, 129u, 255u, 509u}) {
    for (const unsigned rows : {1u, 7u, 9u}) {
      every_norm<float>(packs, rows);
      every_norm<__nv_bfloat16>(packs, rows);
    }
  }
  every_norm<__nv_bfloat16>(8192, 2);  // the longest rows, eight packs a thread
}

TEST(NormalizationRows, DifferByAShiftAndByWhereTheyBegin) {
  const Rows rows{3, 1000};
  const Reference reference(rows);
  for (std::size_t row = 0; row < 6; ++row) {
    double mean = 0, maximum = -1e9;
    for (std::size_t j = 0; j < 1000; ++j) {
      const double x = rows(row * 1000 + j);
      EXPECT_EQ(x, static_cast<float>(__nv_bfloat16(static_cast<float>(x))));
      mean += x / 1000;
      maximum = std::max(maximum, x);
    }
    EXPECT_NEAR(mean, reference.mean + Rows::shift(row), 1e-9);
    EXPECT_EQ(maximum, reference.maximum + Rows::shift(row));
  }
  EXPECT_NE(rows(0), rows(4000));
}

}  // namespace
}  // namespace gpubench
